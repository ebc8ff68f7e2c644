//! CRC-64 of the engine (Jones polynomial, reflected, initial value 0).

const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

/// Bytes that one step processes. `TABLES[n][b]` is the CRC of `b` followed by n zeros.
const STEP: usize = 16;
static TABLES: [[u64; 256]; STEP] = tables();

const fn tables() -> [[u64; 256]; STEP] {
    let mut tables = [[0u64; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 != 0 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut n = 1;
    while n < STEP {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[n - 1][byte];
            tables[n][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        n += 1;
    }
    tables
}

/// Continues the CRC of previous bytes.
pub fn update(mut crc: u64, bytes: &[u8]) -> u64 {
    let mut steps = bytes.chunks_exact(STEP);
    for step in &mut steps {
        let (low, high) = step.split_at(8);
        let low = crc ^ u64::from_le_bytes(low.try_into().expect("eight bytes"));
        let high = u64::from_le_bytes(high.try_into().expect("eight bytes"));
        crc = word(low, 8) ^ word(high, 0);
    }
    for &byte in steps.remainder() {
        crc = (crc >> 8) ^ TABLES[0][usize::from(crc as u8 ^ byte)];
    }
    crc
}

/// The CRC of eight bytes that are followed by `zeros` zeros.
#[inline(always)]
fn word(value: u64, zeros: usize) -> u64 {
    let mut crc = 0;
    for (n, byte) in value.to_le_bytes().into_iter().enumerate() {
        crc ^= TABLES[zeros + 7 - n][usize::from(byte)];
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_value() {
        assert_eq!(update(0, b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn steps_match_the_bytewise_crc() {
        let bytes: Vec<u8> = (0..=255u8).map(|b| b.wrapping_mul(167)).collect();
        for end in 0..bytes.len() {
            let slow = bytes[..end].iter().fold(0, |crc, &b| update(crc, &[b]));
            assert_eq!(update(0, &bytes[..end]), slow, "{end}");
        }
    }
}
