//! What a client has set for its connection: user and protocol, names, and muted replies.

/// User and protocol with which commands are executed. Connections with different credentials are
/// never shared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    /// User and password. `None`: the default user without a login.
    pub login: Option<(Vec<u8>, Vec<u8>)>,
    pub resp3: bool,
}

/// Information that only some clients provide about themselves.
#[derive(Debug, Default, Clone)]
pub struct Profile {
    pub name: Vec<u8>,
    pub library_name: Vec<u8>,
    pub library_version: Vec<u8>,
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
