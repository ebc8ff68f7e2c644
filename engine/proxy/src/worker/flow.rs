//! Behavior that needs both clients and shards: from input to requests, and from replies to output.
//! No file imports these files: their methods belong to the worker.

mod intake;
mod listing;
mod long_replies;
mod loss;
mod memory;
mod moving;
mod output;
mod redirect;
mod replacement;
mod replies;
mod reply_actions;
mod retry;
mod scanning;
mod scripts;
mod timers;
