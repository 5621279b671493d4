//! The data that compressors are measured with.

/// Number of different words.
const WORDS: usize = 1024;

/// Returns `length` bytes that resemble the records of a shuffle: names, numbers and times, a line
/// each. They are the same on every machine.
pub fn sample(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        // xorshift64 is random enough here.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words: Vec<String> = (0..WORDS)
        .map(|_| {
            let letters = 3 + random() % 8;
            (0..letters)
                .map(|_| char::from(b"etaoinshrdlucmfw"[(random() % 16) as usize]))
                .collect()
        })
        .collect();
    let mut out = Vec::with_capacity(length + 128);
    let mut time = 1_400_000_000_u64;
    while out.len() < length {
        time += random() % 7;
        // A few words occur most often.
        let mut word = || {
            let of = 1 + random() as usize % WORDS;
            words[random() as usize % of].as_str()
        };
        let line = format!("{time},{} {},{} {} {},", word(), word(), word(), word(), word());
        out.extend_from_slice(line.as_bytes());
        out.extend_from_slice(format!("{},host-{}\n", random() % 1000, random() % 16).as_bytes());
    }
    out.truncate(length);
    out
}
