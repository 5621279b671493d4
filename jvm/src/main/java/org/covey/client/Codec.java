package org.covey.client;

/** How flows are compressed. Its byte on the wire is its place here. */
public enum Codec {
    /** Not at all. */
    NONE,
    /** LZ4. */
    LZ4,
    /** Snappy. */
    SNAPPY,
    /** Zstandard. */
    ZSTD,
    /** LZF. */
    LZF;

    static Codec of(int number) {
        return number < values().length ? values()[number] : Bytes.refuse("a codec", number);
    }
}
