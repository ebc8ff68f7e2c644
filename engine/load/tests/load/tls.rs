//! A server that accepts only TLS connections.

use crate::lab::Lab;
use std::process::Command;

const PORT: u16 = 21104;

fn openssl(lab: &Lab, args: &str) {
    let output = Command::new("openssl").args(args.split(' ')).current_dir(&lab.directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn certificates_are_verified_unless_verification_is_disabled() {
    let mut lab = Lab::new();
    let curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    openssl(&lab, &format!("req -x509 {curve} -keyout ca.key -out ca.pem -subj /CN=ca"));
    let more = format!(
        "-CA ca.pem -CAkey ca.key -addext subjectAltName=IP:{} -addext basicConstraints=critical,CA:false",
        lab.ip
    );
    openssl(&lab, &format!("req -x509 {curve} -keyout one.key -out one.pem -subj /CN=one {more}"));
    let (ca, key, certificate) = (lab.path("ca.pem"), lab.path("one.key"), lab.path("one.pem"));
    let tls_port = PORT.to_string();
    let options = ["--tls-port", &tls_port, "--tls-cert-file", &certificate, "--tls-key-file", &key];
    lab.server(PORT - 1, &[&options[..], &["--tls-ca-cert-file", &ca]].concat());
    let with = format!("--tls --cacert={ca} --cert={certificate} --key={key}");
    let load = "-t 1 -c 2 --pipeline=3 -n 50 -d 20000 --ratio=1:1 --key-maximum=10";
    for more in ["", "--tls-protocols=TLSv1.2", "--tls-skip-verify", "-P resp3"] {
        let (end, ..) = lab.load(PORT, &format!("{with} {more} {load}")).end();
        assert_eq!((end["ops"].as_u64(), end["connection_errors"].as_u64()), (Some(100), Some(0)), "{more}");
    }
    let other = format!("--tls --cacert={certificate} --cert={certificate} --key={key} {load}");
    let mut refused = lab.load(PORT, &other);
    let message = refused.expect("error")["message"].to_string();
    assert!(message.contains("certificate"), "{message}");
    assert_eq!(refused.wait().1.code(), Some(2));
}
