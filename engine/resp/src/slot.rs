//! The hash slot of a key: CRC16 (XMODEM) modulo 16384 of the hash tag, or of the complete key if
//! it has no hash tag.

pub const SLOTS: u16 = 16_384;

/// Eight tables, so that each step processes eight bytes: `TABLES[n][b]` is the CRC of `b` followed
/// by n zeros.
static TABLES: [[u16; 256]; 8] = tables();

const fn tables() -> [[u16; 256]; 8] {
    let mut tables = [[0u16; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 { (crc << 1) ^ 0x1021 } else { crc << 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut n = 1;
    while n < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[n - 1][byte];
            tables[n][byte] = (before << 8) ^ tables[0][(before >> 8) as usize];
            byte += 1;
        }
        n += 1;
    }
    tables
}

/// Returns the same CRC16 as the engine.
#[inline]
pub fn crc16(bytes: &[u8]) -> u16 {
    let mut crc: u16 = 0;
    let mut chunks = bytes.chunks_exact(8);
    for c in &mut chunks {
        let high = usize::from(c[0] ^ (crc >> 8) as u8);
        let low = usize::from(c[1] ^ (crc & 0xff) as u8);
        crc = TABLES[7][high]
            ^ TABLES[6][low]
            ^ TABLES[5][usize::from(c[2])]
            ^ TABLES[4][usize::from(c[3])]
            ^ TABLES[3][usize::from(c[4])]
            ^ TABLES[2][usize::from(c[5])]
            ^ TABLES[1][usize::from(c[6])]
            ^ TABLES[0][usize::from(c[7])];
    }
    for &byte in chunks.remainder() {
        crc = (crc << 8) ^ TABLES[0][usize::from((crc >> 8) as u8 ^ byte)];
    }
    crc
}

/// Returns the part of the key that is hashed: the bytes between the first `{` and the next `}`,
/// unless there are none.
#[inline]
pub fn hash_tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|&b| b == b'{') else { return key };
    let rest = &key[open + 1..];
    match rest.iter().position(|&b| b == b'}') {
        Some(close) if close > 0 => &rest[..close],
        _ => key,
    }
}

#[inline]
pub fn of_key(key: &[u8]) -> u16 {
    crc16(hash_tag(key)) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(of_key(b""), 0);
        assert_eq!(of_key(b"foo"), 12182);
        assert_eq!(of_key(b"{user1000}.following"), of_key(b"user1000"));
        assert_eq!(hash_tag(b"foo{}{bar}"), b"foo{}{bar}");
        assert_eq!(hash_tag(b"foo{{bar}}zap"), b"{bar");
        assert_eq!(hash_tag(b"foo{bar}{zap}"), b"bar");
    }

    #[test]
    fn the_eight_byte_loop_matches_the_bytewise_crc() {
        let bytes: Vec<u8> = (0..=255u8).map(|b| b.wrapping_mul(167)).collect();
        for end in 0..bytes.len() {
            let slow = bytes[..end]
                .iter()
                .fold(0u16, |crc, &b| (crc << 8) ^ TABLES[0][usize::from((crc >> 8) as u8 ^ b)]);
            assert_eq!(crc16(&bytes[..end]), slow, "{end}");
        }
    }
}
