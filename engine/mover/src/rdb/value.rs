//! Values: type and bytes -> elements.

use crate::error::{Error, Result};
use crate::rdb::input::Input;
use crate::rdb::listpack::Listpack;
use crate::rdb::ziplist::Ziplist;
use crate::rdb::zipmap::Zipmap;
use crate::rdb::{Item, Visitor, intset, module, stream};

/// Type of a key for users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    String,
    List,
    Set,
    SortedSet,
    Hash,
    Stream,
    Module,
}

impl Kind {
    pub const ALL: [Self; 7] =
        [Self::String, Self::List, Self::Set, Self::SortedSet, Self::Hash, Self::Stream, Self::Module];

    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::List => "list",
            Self::Set => "set",
            Self::SortedSet => "zset",
            Self::Hash => "hash",
            Self::Stream => "stream",
            Self::Module => "module",
        }
    }
}

/// The engine that wrote a file. Their formats assign some numbers differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Redis,
    Valkey,
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Valkey => "valkey",
        }
    }
}

/// Type and encoding of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Type {
    pub kind: Kind,
    pub code: u8,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    One,
    /// A number of elements.
    Many,
    TextScores,
    /// Nodes of a list, each packed.
    Ziplists,
    Containers,
    Ziplist,
    Listpack,
    Intset,
    Zipmap,
    /// Valkey: an expiry time after each field and value.
    FieldExpiry,
    /// Redis: an expiry time before each field, relative to the first one.
    RelativeExpiry,
    ListpackExpiry,
    Stream(u8),
    Module,
}

impl Type {
    pub fn new(code: u8, family: Family) -> Result<Self> {
        let (kind, form) = match (code, family) {
            (0, _) => (Kind::String, Form::One),
            (1, _) => (Kind::List, Form::Many),
            (2, _) => (Kind::Set, Form::Many),
            (3, _) => (Kind::SortedSet, Form::TextScores),
            (4, _) => (Kind::Hash, Form::Many),
            (5, _) => (Kind::SortedSet, Form::Many),
            (7, _) => (Kind::Module, Form::Module),
            (9, _) => (Kind::Hash, Form::Zipmap),
            (10, _) => (Kind::List, Form::Ziplist),
            (11, _) => (Kind::Set, Form::Intset),
            (12, _) => (Kind::SortedSet, Form::Ziplist),
            (13, _) => (Kind::Hash, Form::Ziplist),
            (14, _) => (Kind::List, Form::Ziplists),
            (15, _) => (Kind::Stream, Form::Stream(1)),
            (16, _) => (Kind::Hash, Form::Listpack),
            (17, _) => (Kind::SortedSet, Form::Listpack),
            (18, _) => (Kind::List, Form::Containers),
            (19, _) => (Kind::Stream, Form::Stream(2)),
            (20, _) => (Kind::Set, Form::Listpack),
            (21, _) => (Kind::Stream, Form::Stream(3)),
            (22, Family::Valkey) => (Kind::Hash, Form::FieldExpiry),
            (24, Family::Redis) => (Kind::Hash, Form::RelativeExpiry),
            (25, Family::Redis) => (Kind::Hash, Form::ListpackExpiry),
            (26, Family::Redis) => (Kind::Stream, Form::Stream(4)),
            _ => {
                return Err(Error::corrupted(format!(
                    "the RDB file has values of an unknown type ({code}); it is damaged or was written by a newer engine"
                )));
            }
        };
        Ok(Self { kind, code, form })
    }

    /// The code with which Valkey loads the value without its tail. `None`: it does not load this
    /// encoding.
    pub fn loadable_code(self) -> Option<u8> {
        match self.form {
            Form::RelativeExpiry | Form::ListpackExpiry => None,
            Form::Stream(4) => Some(21),
            _ => Some(self.code),
        }
    }

    /// Whether a value can be written by several commands.
    pub fn is_divisible(self) -> bool {
        !matches!(self.kind, Kind::Stream | Kind::Module)
    }

    pub fn read(self, input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
        self.read_body(input, visitor)?;
        self.skip_tail(input)
    }

    /// Skips what only the engine that wrote the file uses.
    pub fn skip_tail(self, input: &mut Input<'_>) -> Result<()> {
        if self.form == Form::Stream(4) { stream::skip_producers(input) } else { Ok(()) }
    }

    /// Reads the value without its tail.
    pub fn read_body(self, input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
        match self.form {
            Form::One => string(input, visitor),
            Form::Many => self.many(input, visitor),
            Form::TextScores => text_scores(input, visitor),
            Form::Ziplists => {
                for _ in 0..input.length()? {
                    self.ziplist(input, visitor)?;
                }
                Ok(())
            }
            Form::Containers => self.containers(input, visitor),
            Form::Ziplist => self.ziplist(input, visitor),
            Form::Listpack => self.listpack(input, visitor),
            Form::Intset => intset(input, visitor),
            Form::Zipmap => zipmap(input, visitor),
            Form::FieldExpiry => field_expiry(input, visitor),
            Form::RelativeExpiry => relative_expiry(input, visitor),
            Form::ListpackExpiry => listpack_expiry(input, visitor),
            Form::Stream(version) => stream::read(input, version, visitor),
            Form::Module => module::read(input, visitor),
        }
    }

    fn containers(self, input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
        for _ in 0..input.length()? {
            match input.length()? {
                1 => string(input, visitor)?,
                2 => self.listpack(input, visitor)?,
                _ => return Err(Error::corrupted("a node of a list has an unknown form")),
            }
        }
        Ok(())
    }

    fn many(self, input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
        for _ in 0..input.length()? {
            string(input, visitor)?;
            match self.kind {
                Kind::Hash => {
                    string(input, visitor)?;
                    visitor.expiry(NEVER)?;
                }
                Kind::SortedSet => visitor.score(f64::from_le_bytes(input.array()?))?,
                _ => {}
            }
        }
        Ok(())
    }

    fn ziplist(self, input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
        let blob = input.blob()?;
        let mut list = Ziplist::new(&blob)?;
        self.items(|| list.next(), visitor)?;
        input.recycle(blob);
        Ok(())
    }

    fn listpack(self, input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
        let blob = input.blob()?;
        let mut list = Listpack::new(&blob)?;
        self.items(|| list.next(), visitor)?;
        input.recycle(blob);
        Ok(())
    }

    #[inline]
    fn items<'a>(
        self,
        mut next: impl FnMut() -> Result<Option<Item<'a>>>,
        visitor: &mut impl Visitor,
    ) -> Result<()> {
        let odd = || Error::corrupted("a packed value has an odd number of elements");
        while let Some(item) = next()? {
            item.visit(visitor)?;
            match self.kind {
                Kind::Hash => {
                    next()?.ok_or_else(odd)?.visit(visitor)?;
                    visitor.expiry(NEVER)?;
                }
                Kind::SortedSet => visitor.score(match next()?.ok_or_else(odd)? {
                    Item::Number(number) => number as f64,
                    Item::Bytes(text) => parse_score(text)?,
                })?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Fields without an expiry time.
pub const NEVER: i64 = -1;

#[inline]
fn string(input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
    input.string(|part, is_last| visitor.part(part, is_last))
}

fn text_scores(input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
    for _ in 0..input.length()? {
        string(input, visitor)?;
        visitor.score(text_score(input)?)?;
    }
    Ok(())
}

fn intset(input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
    let blob = input.blob()?;
    for number in intset::numbers(&blob)? {
        Item::Number(number).visit(visitor)?;
    }
    input.recycle(blob);
    Ok(())
}

fn zipmap(input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
    let blob = input.blob()?;
    let mut map = Zipmap::new(&blob)?;
    while let Some((field, value)) = map.next()? {
        visitor.part(field, true)?;
        visitor.part(value, true)?;
        visitor.expiry(NEVER)?;
    }
    input.recycle(blob);
    Ok(())
}

fn field_expiry(input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
    for _ in 0..input.length()? {
        string(input, visitor)?;
        string(input, visitor)?;
        visitor.expiry(i64::from_le_bytes(input.array()?))?;
    }
    Ok(())
}

fn listpack_expiry(input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
    // The first expiry time.
    input.array::<8>()?;
    let blob = input.blob()?;
    let mut list = Listpack::new(&blob)?;
    while let Some(field) = list.next()? {
        field.visit(visitor)?;
        list.expect()?.visit(visitor)?;
        let at = list.number()?;
        visitor.expiry(if at == 0 { NEVER } else { at })?;
    }
    input.recycle(blob);
    Ok(())
}

fn relative_expiry(input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
    let first = i64::from_le_bytes(input.array()?);
    for _ in 0..input.length()? {
        let relative = i64::try_from(input.length()?).unwrap_or(i64::MAX);
        string(input, visitor)?;
        string(input, visitor)?;
        visitor.expiry(if relative == 0 { NEVER } else { first.saturating_add(relative - 1) })?;
    }
    Ok(())
}

fn text_score(input: &mut Input<'_>) -> Result<f64> {
    match input.byte()? {
        253 => Ok(f64::NAN),
        254 => Ok(f64::INFINITY),
        255 => Ok(f64::NEG_INFINITY),
        length => {
            let length = usize::from(length);
            input.need(length)?;
            let score = parse_score(&input.peek()[..length]);
            input.advance(length);
            score
        }
    }
}

fn parse_score(text: &[u8]) -> Result<f64> {
    let text = std::str::from_utf8(text).ok();
    text.and_then(|text| text.trim().parse().ok()).ok_or_else(|| Error::corrupted("a score is not a number"))
}
