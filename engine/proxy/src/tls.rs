//! TLS of a database: for its listener, from the files that the agent names, and for connections to
//! its shards on other nodes.

use crate::control::{ShardTls, Tls};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;

pub fn server_config(tls: &Tls) -> Result<Arc<ServerConfig>, String> {
    let certificates = certificates(&tls.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| format!("{}: {error}", tls.key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match &tls.client_ca {
        None if tls.require_client_certificate => {
            return Err("client certificates require a client CA".into());
        }
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in self::certificates(path)? {
                roots.add(certificate).map_err(|error| format!("{path}: {error}"))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = match tls.require_client_certificate {
                true => verifier,
                false => verifier.allow_unauthenticated(),
            };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| error.to_string())?)
        }
    };
    let config = builder.with_single_cert(certificates, key).map_err(|error| error.to_string())?;
    Ok(Arc::new(config))
}

/// Server name in the certificates of all shards, independent of their addresses.
pub const SHARD: &str = "shard.internal";

/// Returns the configuration for a database whose shards use mutual TLS with `tls`.
pub fn shard_config(tls: &ShardTls) -> Result<Arc<ClientConfig>, String> {
    let read = |text: &str| CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>();
    let failure = |error: &dyn std::fmt::Display| format!("shard certificates: {error}");
    let mut roots = RootCertStore::empty();
    for certificate in read(&tls.authorities).map_err(|error| failure(&error))? {
        roots.add(certificate).map_err(|error| failure(&error))?;
    }
    let chain = read(&tls.certificate).map_err(|error| failure(&error))?;
    let key = PrivateKeyDer::from_pem_slice(tls.key.as_bytes()).map_err(|error| failure(&error))?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| failure(&error))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .map_err(|error| failure(&error))?;
    // The engine sets no session ID context, and OpenSSL rejects the resumption of sessions with a
    // client certificate and no context.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    read().map_err(|error| format!("{path}: {error}"))
}
