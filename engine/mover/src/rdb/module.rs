//! Values and data of modules: opcodes -> numbers and strings.

use crate::error::{Error, Result};
use crate::rdb::Visitor;
use crate::rdb::input::Input;

pub fn read(input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
    visitor.number(input.length()?)?;
    parts(input, visitor)
}

/// Reads until the end opcode.
pub fn parts(input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
    loop {
        match input.length()? {
            0 => return Ok(()),
            1 | 2 => visitor.number(input.length()?)?,
            3 => visitor.number(u64::from(u32::from_le_bytes(input.array()?)))?,
            4 => visitor.number(u64::from_le_bytes(input.array()?))?,
            5 => input.string(|part, is_last| visitor.part(part, is_last))?,
            _ => return Err(Error::corrupted("a value of a module is invalid")),
        }
    }
}
