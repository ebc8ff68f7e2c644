//! Clients with TLS, with and without client certificates.

use crate::lab::{ENDPOINT, Lab};
use serde_json::json;
use std::process::Command;

fn openssl(lab: &Lab, args: &str) {
    let output = Command::new("openssl").args(args.split(' ')).current_dir(&lab.directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the output of valkey-cli.
fn cli(lab: &Lab, options: &str, command: &str) -> String {
    let output = Command::new("valkey-cli")
        .args(["-h", &lab.ip, "-p", &ENDPOINT.to_string(), "--tls", "--cacert", "ca.pem"])
        .args(options.split_whitespace())
        .args(command.split(' '))
        .current_dir(&lab.directory)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn tls_works_with_and_without_client_certificates() {
    let mut lab = Lab::new();
    let curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    openssl(&lab, &format!("req -x509 {curve} -keyout ca.key -out ca.pem -subj /CN=ca"));
    let san = format!("subjectAltName=IP:{}", lab.ip);
    for name in ["server", "client"] {
        openssl(
            &lab,
            &format!(
                "req -x509 {curve} -keyout {name}.key -out {name}.pem -subj /CN={name} -CA ca.pem -CAkey ca.key -addext {san} -addext basicConstraints=critical,CA:false"
            ),
        );
    }
    let shards = lab.cluster(false);
    let path = |name: &str| lab.directory.join(name).to_str().unwrap().to_string();
    let mut database = lab.database(&shards);
    let mut proxy = lab.proxy(&database);
    let mut unencrypted = lab.client();
    assert_eq!(unencrypted.command("SET a 0"), "+OK\r\n");
    database["tls"] = json!({"certificate": path("server.pem"), "key": path("server.key")});
    proxy.apply(&database);
    assert_eq!(cli(&lab, "", "SET a 1"), "OK\n");
    // Existing unencrypted connections are closed.
    assert!(unencrypted.try_reply().is_none());
    let large = "x".repeat(300_000);
    assert_eq!(cli(&lab, "", &format!("SET large {}", &large[..100_000])), "OK\n");
    assert_eq!(cli(&lab, "", "GET large").len(), 100_001);
    assert_eq!(cli(&lab, "", "EVAL return(string.rep('x',3000000)) 0").len(), 3_000_001);
    // Cluster clients find the port under the name for TLS.
    let endpoint = json!({"id": "e".repeat(40), "address": lab.ip, "port": ENDPOINT, "local": true});
    database["mode"] = json!("oss_cluster");
    database["proxies"] = json!([endpoint]);
    database["version"] = json!(2);
    proxy.apply(&database);
    crate::lab::wait("cluster mode", || {
        cli(&lab, "", "CLUSTER SHARDS").contains(&format!("\ntls-port\n{ENDPOINT}\n"))
    });
    assert!(!cli(&lab, "", "CLUSTER SHARDS").contains("\nport\n"));
    database["mode"] = json!("hidden");
    database["version"] = json!(3);
    proxy.apply(&database);
    // A client without TLS is not accepted.
    assert!(lab.client().try_simple_command("PING").is_none());
    // A certificate of another CA is used as soon as it has been installed.
    openssl(
        &lab,
        &format!("req -x509 {curve} -keyout other.key -out other.pem -subj /CN=other -addext {san}"),
    );
    let before = std::fs::read(path("server.pem")).unwrap();
    let key = std::fs::read(path("server.key")).unwrap();
    std::fs::copy(path("other.key"), path("server.key")).unwrap();
    std::fs::copy(path("other.pem"), path("server.pem")).unwrap();
    crate::lab::wait("the new certificate", || cli(&lab, "--cacert other.pem", "GET a") == "1\n");
    std::fs::write(path("server.key"), key).unwrap();
    std::fs::write(path("server.pem"), before).unwrap();
    crate::lab::wait("the old certificate", || cli(&lab, "", "GET a") == "1\n");
    database["tls"]["client_ca"] = json!(path("ca.pem"));
    database["tls"]["require_client_certificate"] = json!(true);
    proxy.apply(&database);
    assert_ne!(cli(&lab, "", "GET a"), "1\n");
    assert_eq!(cli(&lab, "--cert client.pem --key client.key", "GET a"), "1\n");
}
