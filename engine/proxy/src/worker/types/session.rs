//! Properties that a client sets for its connection: user, protocol, names, and muted replies.

/// User and protocol with which commands are executed. Connections with different credentials are
/// never shared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    /// User and password. `None`: the default user without a login.
    pub login: Option<(Vec<u8>, Vec<u8>)>,
    pub resp3: bool,
}

impl Credentials {
    pub fn user(&self) -> &[u8] {
        self.login.as_ref().map_or(b"default", |(user, _)| user)
    }
}

/// Information that only some clients provide about themselves.
#[derive(Debug, Default, Clone)]
pub struct Profile {
    pub name: Vec<u8>,
    pub library_name: Vec<u8>,
    pub library_version: Vec<u8>,
}

impl Profile {
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + self.name.capacity()
            + self.library_name.capacity()
            + self.library_version.capacity()
    }
}

/// Subject of the engine's error for names of clients.
pub const CLIENT_NAMES: &str = "Client names";

/// Maximum length of names. The engine has no limit.
const LONGEST_NAME: usize = 256;

/// Returns the error for an invalid name. `what` is the subject of the engine's error text.
pub fn name_error(what: &str, name: &[u8]) -> Option<String> {
    if name.iter().any(|byte| !(b'!'..=b'~').contains(byte)) {
        return Some(format!("ERR {what} cannot contain spaces, newlines or special characters."));
    }
    (name.len() > LONGEST_NAME)
        .then(|| format!("ERR {what} cannot be longer than {LONGEST_NAME} bytes at this endpoint"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Muted {
    #[default]
    No,
    /// Until CLIENT REPLY ON.
    Off,
    /// Only the next request.
    Skip,
}
