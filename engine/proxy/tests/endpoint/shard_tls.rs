//! Shards on other nodes that accept only TLS connections with a certificate of their database.

use crate::lab::{Client, ENDPOINT, Lab, Proxy, wait};
use serde_json::{Value, json};
use std::process::Command;

const UNENCRYPTED: u16 = 21000;
const ENCRYPTED: u16 = 21001;

fn openssl(lab: &Lab, args: &str) {
    let output = Command::new("openssl").args(args.split(' ')).current_dir(&lab.directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Creates the certificates of a database: NAME-ca.pem, NAME.pem, NAME.key.
fn issue(lab: &Lab, name: &str) -> Value {
    let curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    openssl(lab, &format!("req -x509 {curve} -keyout {name}-ca.key -out {name}-ca.pem -subj /CN={name}"));
    let names = "-addext subjectAltName=DNS:shard.internal -addext extendedKeyUsage=serverAuth,clientAuth";
    openssl(
        lab,
        &format!(
            "req -x509 {curve} -keyout {name}.key -out {name}.pem -subj /CN=shard -CA {name}-ca.pem -CAkey {name}-ca.key -addext basicConstraints=critical,CA:false {names}"
        ),
    );
    let read = |file: String| std::fs::read_to_string(lab.directory.join(file)).unwrap();
    let (authorities, certificate) = (read(format!("{name}-ca.pem")), read(format!("{name}.pem")));
    json!({"authorities": authorities, "certificate": certificate, "key": read(format!("{name}.key"))})
}

/// Starts a shard of the database `own`. Returns the configuration of the database, and
/// certificates of another database.
fn sealed(lab: &mut Lab) -> (Value, Value) {
    let (own, strange) = (issue(lab, "own"), issue(lab, "strange"));
    let path = |name: &str| lab.directory.join(name).to_str().unwrap().to_string();
    let (ca, certificate, key) = (path("own-ca.pem"), path("own.pem"), path("own.key"));
    let port = ENCRYPTED.to_string();
    let options = ["--tls-port", &port, "--tls-ca-cert-file", &ca, "--tls-cert-file", &certificate];
    lab.server(
        UNENCRYPTED,
        &[&options[..], &["--tls-key-file", &key, "--tls-protocols", "TLSv1.3"]].concat(),
    );
    let mut database = lab.database(&[lab.shard(ENCRYPTED, "primary", json!([]))]);
    database["sharded"] = json!(false);
    database["failover_wait_ms"] = json!(60_000);
    database["shard_tls"] = own;
    (database, strange)
}

#[test]
fn connections_to_shards_use_the_certificate_of_their_database() {
    let mut lab = Lab::new();
    let (mut database, strange) = sealed(&mut lab);
    let _proxy = lab.proxy(&database);
    assert_eq!(lab.client().command("SET a 1"), "+OK\r\n");
    let mut sealed = lab.client();
    assert_eq!(sealed.command("GET a"), "$1\r\n1\r\n");
    // Certificates of another database are rejected, as are invalid ones. The proxy does not fall
    // back to unencrypted connections.
    for (step, wrong) in
        [strange, json!({"authorities": "", "certificate": "", "key": ""})].into_iter().enumerate()
    {
        let own = std::mem::replace(&mut database["shard_tls"], wrong);
        let mut other = Proxy::start(&lab.directory.join(format!("other-{step}")));
        database["port"] = json!(ENDPOINT + 1);
        database["failover_wait_ms"] = json!(200);
        other.order(&json!({"type": "apply", "databases": [database]}));
        let failures = other.expect("applied")["failures"].as_array().unwrap().len();
        assert_eq!(failures, step, "only unreadable certificates are reported as a failure");
        let mut client = Client::connect(lab.address(ENDPOINT + 1)).unwrap();
        let answer = client.command("GET a");
        assert!(answer.starts_with("-CLUSTERDOWN"), "{answer}");
        database["shard_tls"] = own;
        database["port"] = json!(ENDPOINT);
    }
    let refused = "Error accepting a client connection";
    let log = || std::fs::read_to_string(lab.directory.join(format!("{UNENCRYPTED}/log"))).unwrap();
    wait("the shard to log the rejection", || log().contains(refused));
    // An unencrypted request receives no data.
    database["shard_tls"] = Value::Null;
    database["port"] = json!(ENDPOINT + 1);
    let mut plain = Proxy::start(&lab.directory.join("plain"));
    plain.apply(&database);
    assert!(Client::connect(lab.address(ENDPOINT + 1)).unwrap().command("GET a").starts_with('-'));
}

#[test]
fn long_and_numerous_requests_and_replies_are_transferred_over_tls() {
    let mut lab = Lab::new();
    let (database, _) = sealed(&mut lab);
    let _proxy = lab.proxy(&database);
    let mut client = lab.client();
    let long = vec![b'x'; 12 << 20];
    // Also before the first TLS handshake is complete.
    client.send_args(&[b"SET", b"long", &long]);
    assert_eq!(client.reply(), "+OK\r\n");
    for _ in 0..3 {
        assert_eq!(client.command("GET long").len(), long.len() + 13);
    }
    // No data remains in the session, regardless of how it is split: sizes around those of a record
    // and of one read.
    for size in [1, 4096, 16_384, 16_385, 65_536, 196_608, 262_143, 262_144, 262_145] {
        client.send_args(&[b"SET", b"some", &long[..size]]);
        assert_eq!(client.reply(), "+OK\r\n");
        assert!(client.command("GET some").len() > size);
    }
    let burst = "*2\r\n$3\r\nGET\r\n$4\r\nsome\r\n".repeat(100);
    client.send_raw(burst.as_bytes());
    for _ in 0..100 {
        assert_eq!(client.reply().len(), 262_145 + 11);
    }
    // A client that does not read delays no other.
    let mut idle = lab.client();
    for _ in 0..4 {
        idle.send("GET long");
    }
    for _ in 0..100 {
        assert_eq!(client.command("ECHO here"), "$4\r\nhere\r\n");
    }
    for _ in 0..4 {
        assert_eq!(idle.reply().len(), long.len() + 13);
    }
}
