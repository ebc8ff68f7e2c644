//! Tests of the program with real servers, and of the parser with damaged files.

mod changes;
mod damaged;
mod dataset;
mod file;
mod foreign;
mod lab;
mod recorder;
mod replay;
mod restore;
mod round_trip;
mod snapshot;
