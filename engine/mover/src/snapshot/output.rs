//! Compresses and writes in a separate thread.

use crate::compression::{Compression, Compressor};
use crate::error::{Error, Result};
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

/// As much as zstd compresses at once: a fraction of a millisecond.
const CHUNK: usize = 128 * 1024;
/// Chunks that wait for the thread. The shard must not wait for short pauses of the store.
const CHUNKS: usize = 64;

/// Collects bytes for the thread. Complete after `flush`.
pub struct Output {
    chunk: Vec<u8>,
    /// An empty chunk is the end.
    sender: SyncSender<Vec<u8>>,
    /// Chunks that were written, to be filled again.
    written: Receiver<Vec<u8>>,
}

impl Output {
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        compression: Compression,
        output: impl Write + Send + 'scope,
    ) -> Result<(Self, ScopedJoinHandle<'scope, Result<()>>)> {
        let (sender, receiver) = sync_channel::<Vec<u8>>(CHUNKS);
        let (recycle, written) = channel();
        let mut compressor = Compressor::new(compression, output)?;
        let writer = scope.spawn(move || {
            for mut chunk in receiver {
                if chunk.is_empty() {
                    return compressor.finish().map_err(|error| write_error(&error));
                }
                compressor.write(&chunk).map_err(|error| write_error(&error))?;
                chunk.clear();
                // Nothing receives it after the last one.
                let _ = recycle.send(chunk);
            }
            // Reading failed, and reports the error.
            Ok(())
        });
        Ok((Self { chunk: Vec::with_capacity(CHUNK), sender, written }, writer))
    }

    fn send(&mut self, chunk: Vec<u8>) -> std::io::Result<()> {
        self.sender
            .send(chunk)
            .map_err(|_| std::io::Error::other(Error::general("the output cannot be written")))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let some = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..some]);
        if self.chunk.len() == CHUNK {
            let next = self.written.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
            let chunk = std::mem::replace(&mut self.chunk, next);
            self.send(chunk)?;
        }
        Ok(some)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let chunk = std::mem::take(&mut self.chunk);
        if !chunk.is_empty() {
            self.send(chunk)?;
        }
        self.send(Vec::new())
    }
}

fn write_error(error: &std::io::Error) -> Error {
    Error::general(format!("the output cannot be written: {error}"))
}
