package org.covey.spark;

import java.util.Locale;

/**
 * What can write a shuffle. Speeds, in raw bytes per second of one core, and ratios, in compressed bytes for each raw
 * byte, are those of Swallow's Table II (IPDPS 2018), which the policy {@code fvdf} has, too.
 */
enum Compressor {
    NONE(Double.POSITIVE_INFINITY, 1),
    LZ4(785e6, 0.6215),
    ZSTD(330e6, 0.3477);

    private final double speed;
    private final double ratio;

    Compressor(double speed, double ratio) {
        this.speed = speed;
        this.ratio = ratio;
    }

    /** The ratio where nothing is known of the data. */
    double ratio() {
        return ratio;
    }

    /** The name, as executors and the driver say it to each other. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Compressor of(String text) {
        return valueOf(text.toUpperCase(Locale.ROOT));
    }

    /**
     * The one with which compressing and then sending takes the least time. So data is compressed if that saves more
     * time on the link than it takes (Swallow's Eq. 3).
     *
     * @param bandwidth bytes per second that the link has left
     * @param cores the cores that compress
     * @param scale by which ratios differ from those where nothing is known
     */
    static Compressor fastest(double bandwidth, double cores, double scale) {
        Compressor best = NONE;
        for (Compressor one : values()) {
            if (one.seconds(bandwidth, cores, scale) < best.seconds(bandwidth, cores, scale)) {
                best = one;
            }
        }
        return best;
    }

    /** Seconds for each raw byte. */
    private double seconds(double bandwidth, double cores, double scale) {
        double sent = this == NONE ? 1 : Math.min(1, ratio * scale);
        return sent / bandwidth + 1 / (cores * speed);
    }
}
