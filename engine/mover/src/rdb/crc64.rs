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
pub fn update(crc: u64, bytes: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= folding::MIN_BYTES && is_x86_feature_detected!("pclmulqdq") {
        // SAFETY: the CPU has the instruction.
        let (folded, rest) = unsafe { folding::fold(crc, bytes) };
        return by_tables(by_tables(0, &folded), rest);
    }
    by_tables(crc, bytes)
}

fn by_tables(mut crc: u64, bytes: &[u8]) -> u64 {
    let mut steps = bytes.chunks_exact(STEP);
    for step in &mut steps {
        let (low, high) = words(step);
        crc = word(crc ^ low, 8) ^ word(high, 0);
    }
    for &byte in steps.remainder() {
        crc = (crc >> 8) ^ TABLES[0][usize::from(crc as u8 ^ byte)];
    }
    crc
}

/// The halves of 16 bytes.
#[inline(always)]
fn words(bytes: &[u8]) -> (u64, u64) {
    let (low, high) = bytes.split_at(8);
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    (word(low), word(high))
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

/// Replaces bytes by 16 bytes with the same CRC, with carry-less multiplications. Several times as
/// fast as the tables.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)] // these instructions are safe since Rust 1.87
mod folding {
    use super::{POLYNOMIAL, words};
    use std::arch::x86_64::{__m128i, _mm_clmulepi64_si128, _mm_set_epi64x, _mm_storeu_si128, _mm_xor_si128};

    const LANE: usize = 16;
    const LANES: usize = 8;
    const STRIDE: usize = LANE * LANES;
    pub const MIN_BYTES: usize = 2 * STRIDE;

    /// Factors that move the halves of a lane by this number of bytes.
    const fn factors(bytes: u32) -> (u64, u64) {
        (power(8 * bytes + 63), power(8 * bytes - 1))
    }

    /// x to the power of `exponent` modulo the polynomial, with bits in reverse order.
    const fn power(exponent: u32) -> u64 {
        let mut power = 1 << 63;
        let mut n = 0;
        while n < exponent {
            power = if power & 1 != 0 { (power >> 1) ^ POLYNOMIAL } else { power >> 1 };
            n += 1;
        }
        power
    }

    const BY_STRIDE: (u64, u64) = factors(STRIDE as u32);
    const BY_LANE: (u64, u64) = factors(LANE as u32);

    /// Returns the 16 bytes, to be followed by the second part.
    ///
    /// # Safety
    ///
    /// The CPU must have the instruction PCLMULQDQ.
    #[target_feature(enable = "pclmulqdq")]
    pub unsafe fn fold(crc: u64, bytes: &[u8]) -> ([u8; LANE], &[u8]) {
        let mut strides = bytes.chunks_exact(STRIDE);
        let mut lanes = load(strides.next().expect("the caller passes enough bytes"));
        lanes[0] = xor(lanes[0], lane(crc, 0));
        for stride in &mut strides {
            let next = load(stride);
            for (lane, next) in lanes.iter_mut().zip(next) {
                // SAFETY: the caller has checked the CPU.
                *lane = xor(unsafe { moved(*lane, BY_STRIDE) }, next);
            }
        }
        let [mut folded, others @ ..] = lanes;
        for other in others {
            // SAFETY: the caller has checked the CPU.
            folded = xor(unsafe { moved(folded, BY_LANE) }, other);
        }
        let mut out = [0; LANE];
        // SAFETY: the array has 16 bytes.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), folded) };
        (out, strides.remainder())
    }

    #[inline(always)]
    fn load(stride: &[u8]) -> [__m128i; LANES] {
        std::array::from_fn(|n| {
            let (low, high) = words(&stride[n * LANE..(n + 1) * LANE]);
            lane(low, high)
        })
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq")]
    unsafe fn moved(value: __m128i, (low, high): (u64, u64)) -> __m128i {
        let factors = lane(low, high);
        // SAFETY: the caller has checked the CPU.
        unsafe { xor(_mm_clmulepi64_si128(value, factors, 0x00), _mm_clmulepi64_si128(value, factors, 0x11)) }
    }

    #[inline(always)]
    fn lane(low: u64, high: u64) -> __m128i {
        // SAFETY: all CPUs of this architecture have SSE2.
        unsafe { _mm_set_epi64x(high as i64, low as i64) }
    }

    #[inline(always)]
    fn xor(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: all CPUs of this architecture have SSE2.
        unsafe { _mm_xor_si128(a, b) }
    }
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
        let bytes: Vec<u8> = (0..1_000u32).map(|n| (n * 167 + n / 256) as u8).collect();
        for start in [0, 1, 7] {
            for end in start..bytes.len() {
                let bytes = &bytes[start..end];
                let slow = bytes.iter().fold(5, |crc, &b| by_tables(crc, &[b]));
                assert_eq!((update(5, bytes), by_tables(5, bytes)), (slow, slow), "{start} {end}");
            }
        }
    }
}
