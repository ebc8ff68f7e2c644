//! The error of a transfer: a code for programs and a message for users.

use std::borrow::Cow;
use std::fmt;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    FileCorrupted,
    OutOfMemory,
    ShardUnavailable,
    General,
    /// Internal: a value is longer than the buffer may hold. The caller reads it in another way.
    TooLongToHold,
}

impl Code {
    pub fn name(self) -> &'static str {
        match self {
            Self::FileCorrupted => "file-corrupted",
            Self::OutOfMemory => "out-of-memory",
            Self::ShardUnavailable => "shard-unavailable",
            Self::General | Self::TooLongToHold => "general-error",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Error {
    pub code: Code,
    pub message: Cow<'static, str>,
}

impl Error {
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into() }
    }

    pub fn general(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::General, message)
    }

    pub fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::ShardUnavailable, message)
    }

    #[cold]
    pub fn corrupted(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::FileCorrupted, message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
