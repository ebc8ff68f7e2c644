//! A shard whose replies a test determines, for replies that no available engine sends.

use crate::lab::Lab;
use resp::{Args, Limits, RequestParser};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Serves the port until the test process ends.
pub fn shard(lab: &Lab, port: u16, answer: impl Fn(&Args<'_>) -> String + Send + Sync + 'static) {
    let listener = TcpListener::bind(lab.address(port)).unwrap();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || serve(stream.unwrap(), &*answer));
        }
    });
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Args<'_>) -> String) {
    let (mut input, mut parser, mut bytes) = (Vec::new(), RequestParser::default(), [0; 65536]);
    while let Ok(n @ 1..) = stream.read(&mut bytes) {
        input.extend_from_slice(&bytes[..n]);
        while let Ok(Some(len)) = parser.parse(&input, &Limits::default()) {
            let reply = answer(&parser.args(&input[..len]));
            input.drain(..len);
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
    }
}
