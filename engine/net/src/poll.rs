//! epoll in level-triggered mode: a connection that is not read now is reported again, so
//! backpressure needs only one call.

use crate::arena::Id;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Wake,
    Client(Id),
    Backend(Id),
    /// A descriptor of the control or acceptor thread.
    Other(u32),
}

impl Source {
    fn encode(self) -> EventData {
        let (kind, id) = match self {
            Self::Wake => (0, Id { index: 0, generation: 0 }),
            Self::Client(id) => (1, id),
            Self::Backend(id) => (2, id),
            Self::Other(index) => (3, Id { index, generation: 0 }),
        };
        EventData::new_u64(kind << 62 | u64::from(id.generation) << 32 | u64::from(id.index))
    }

    fn decode(data: EventData) -> Self {
        let bits = data.u64();
        let id = Id { index: bits as u32, generation: (bits >> 32) as u32 & 0x3fff_ffff };
        match bits >> 62 {
            0 => Self::Wake,
            1 => Self::Client(id),
            2 => Self::Backend(id),
            _ => Self::Other(id.index),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interest {
    pub read: bool,
    pub write: bool,
    /// The peer has closed its sending side. Like all events, this is reported until the interest
    /// is removed.
    pub hangup: bool,
}

impl Interest {
    pub const READ: Self = Self { read: true, write: false, hangup: true };
    pub const WRITE: Self = Self { read: false, write: true, hangup: false };

    fn flags(self) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, self.read);
        flags.set(EventFlags::RDHUP, self.hangup);
        flags.set(EventFlags::OUT, self.write);
        flags
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Ready {
    pub source: Source,
    pub read: bool,
    pub write: bool,
    /// The peer has closed its sending side.
    pub hangup: bool,
    /// The connection has failed or is closed in both directions.
    pub broken: bool,
}

#[derive(Debug)]
pub struct Poll {
    epoll: OwnedFd,
    waker: Waker,
}

/// Number of events that one call takes from the kernel.
const BATCH: usize = 256;

/// Interrupts the wait of another thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    pub fn wake(&self) {
        // Fails only if the counter is full, and then the thread is being woken anyway.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

impl Poll {
    pub fn new() -> io::Result<Self> {
        Self::with_waker(Waker(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Creates a poll without descriptors that uses the waker of an earlier poll.
    pub fn with_waker(waker: Waker) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*waker.0, Source::Wake.encode(), EventFlags::IN)?;
        Ok(Self { epoll, waker })
    }

    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    pub fn add(&self, fd: impl AsFd, source: Source, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, source.encode(), interest.flags())?)
    }

    pub fn change(&self, fd: impl AsFd, source: Source, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, source.encode(), interest.flags())?)
    }

    pub fn remove(&self, fd: impl AsFd) {
        // The only possible error is that the descriptor is not registered, which is the desired
        // state.
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Waits for events and stores them in `ready`. A wake-up is consumed and reported once.
    pub fn wait(&self, ready: &mut Vec<Ready>, timeout: Duration) -> io::Result<()> {
        ready.clear();
        let timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        let mut space = [const { MaybeUninit::uninit() }; BATCH];
        let (events, _) = match epoll::wait(&self.epoll, &mut space, Some(&timeout)) {
            Ok(found) => found,
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in events {
            let source = Source::decode(event.data);
            if source == Source::Wake {
                let _ = rustix::io::read(&*self.waker.0, &mut [0u8; 8]);
            }
            let flags = event.flags;
            ready.push(Ready {
                source,
                read: flags.contains(EventFlags::IN),
                write: flags.contains(EventFlags::OUT),
                hangup: flags.contains(EventFlags::RDHUP),
                broken: flags.intersects(EventFlags::ERR | EventFlags::HUP),
            });
        }
        Ok(())
    }
}
