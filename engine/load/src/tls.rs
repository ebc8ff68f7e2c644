//! TLS connections to servers, with the files that the options name.

use crate::options::{Options, Tls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, SupportedProtocolVersion};
use std::sync::Arc;

pub type Session = (Arc<ClientConfig>, ServerName<'static>);

/// File in which Debian-based systems keep their trusted CAs.
const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Returns `None` for unencrypted connections.
pub fn session(options: &Options) -> Result<Option<Session>, String> {
    let Some(tls) = &options.tls else { return Ok(None) };
    let name = tls.server_name.clone().unwrap_or_else(|| options.host.clone());
    let name = ServerName::try_from(name).map_err(|_| "--sni: not a valid server name".to_owned())?;
    Ok(Some((Arc::new(config(tls)?), name)))
}

fn config(tls: &Tls) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions(tls.protocols.as_deref())?)
        .map_err(|error| error.to_string())?;
    let builder = match tls.skip_verify {
        true => builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider))),
        false => builder.with_root_certificates(roots(tls.authorities.as_deref())?),
    };
    match (&tls.certificate, &tls.key) {
        (Some(certificate), Some(key)) => {
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| format!("--key: {error}"))?;
            let chain = certificates(certificate).map_err(|error| format!("--cert: {error}"))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| format!("--cert: {error}"))
        }
        (None, None) => Ok(builder.with_no_client_auth()),
        _ => Err("--cert and --key must be used together".into()),
    }
}

fn versions(names: Option<&str>) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let Some(names) = names else { return Ok(vec![&rustls::version::TLS12, &rustls::version::TLS13]) };
    let version = |name: &str| match name.trim() {
        "TLSv1.2" => Ok(&rustls::version::TLS12),
        "TLSv1.3" => Ok(&rustls::version::TLS13),
        other => Err(format!("--tls-protocols: {other} is not supported; use TLSv1.2 or TLSv1.3")),
    };
    names.split(',').map(version).collect()
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    read().map_err(|error| format!("{path}: {error}"))
}

fn roots(path: Option<&str>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let found =
        certificates(path.unwrap_or(SYSTEM_AUTHORITIES)).map_err(|error| format!("--cacert: {error}"))?;
    let (taken, _) = roots.add_parsable_certificates(found);
    if taken == 0 { Err("--cacert: the file contains no usable certificate".into()) } else { Ok(roots) }
}

/// Accepts any server certificate, for `--tls-skip-verify`.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
