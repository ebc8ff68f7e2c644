//! Reads a file and reports its contents.

use crate::compression::decompress;
use crate::digest::ValueDigest;
use crate::error::{Error, Result};
use crate::lines::{Counted, Progress};
use crate::rdb::input::Input;
use crate::rdb::{Event, Reader};
use crate::slots::SlotSet;
use crate::snapshot;
use crate::statistics::Statistics;
use serde_json::{Map, Value};
use std::io::Read;
use std::sync::atomic::Ordering;

pub fn run(input: impl Read, progress: &Progress) -> Result<Map<String, Value>> {
    let source = decompress(Counted::new(input, &progress.bytes))?;
    let source = Box::new(Counted::new(source, &progress.raw_bytes));
    let mut reader = Reader::new(Input::new(source, None), SlotSet::default())?;
    let mut statistics = Statistics::default();
    loop {
        match reader.next_event()? {
            Event::Key(entry) => {
                reader.input.omit()?;
                let mut digest = ValueDigest::new(entry.value.kind);
                reader.read_value(&entry, &mut digest)?;
                statistics.add(&entry, &digest, reader.input.position() - entry.start);
                progress.keys.store(statistics.keys, Ordering::Relaxed);
            }
            Event::Function(code) => statistics.add_function(&code)?,
            Event::End => break,
        }
    }
    if reader.input.has_more()? {
        return Err(Error::corrupted("the RDB file is followed by other data"));
    }
    let mut fields = snapshot::fields(&reader, &statistics, reader.input.position());
    fields.insert("bytes".into(), progress.bytes.load(Ordering::Relaxed).into());
    Ok(fields)
}
