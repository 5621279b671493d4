//! Measures the speed and ratio of the compressors on this machine.

use covey_proto::{CodecName, Compressor};
use rustix::time::{ClockId, clock_gettime};

use crate::chunk::{checksum, pack};
use crate::sample::sample;

/// Bytes that are compressed at a time, as in a flow.
const CHUNK: usize = 64 << 10;
/// Bytes of the sample.
const SAMPLE: usize = 4 * CHUNK;
/// Processor time that each compressor is measured for, in seconds.
const FOR_S: f64 = 0.005;

/// Processor time of this thread in seconds. Other load on the machine does not count.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Measures all compressors on this machine with a [`sample`]: raw bytes per second of a whole
/// processor, checksum included, and the ratio. Takes about 30 ms.
pub fn measure() -> Vec<Compressor> {
    let sample = sample(SAMPLE);
    let mut out = Vec::new();
    let mut measure_one = |codec| {
        let (mut best_s, mut packed) = (f64::INFINITY, SAMPLE);
        let began = cpu_s();
        while cpu_s() - began < FOR_S || best_s.is_infinite() {
            let before = cpu_s();
            packed = 0;
            for chunk in sample.chunks(CHUNK) {
                out.clear();
                std::hint::black_box(checksum(chunk));
                packed += if pack(codec, chunk, &mut out) { out.len() } else { chunk.len() };
            }
            best_s = best_s.min(cpu_s() - before);
        }
        // A coarse clock may show no time at all.
        let speed = SAMPLE as f64 / best_s.max(1e-9);
        Compressor { codec, speed, ratio: packed as f64 / SAMPLE as f64 }
    };
    CodecName::ALL.into_iter().map(&mut measure_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_shrinks_as_records_do() {
        let ratio: Vec<f64> = measure().iter().map(|it| it.ratio).collect();
        assert!(ratio.iter().all(|ratio| (0.25..0.75).contains(ratio)), "{ratio:?}");
        assert!(ratio[2] < ratio[0], "zstd is smaller than lz4: {ratio:?}");
        assert!(measure().iter().all(|it| it.speed > 0.0));
    }
}
