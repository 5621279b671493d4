package org.covey.spark;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PushbackInputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

import net.jpountz.lz4.LZ4BlockOutputStream;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.io.LZ4CompressionCodec;
import org.apache.spark.io.ZStdCompressionCodec;

/**
 * Writes what the tasks of a stage write as was chosen for the stage, or with lz4 where nothing was. It reads what any
 * stage has written: the first bytes say with what.
 */
public final class SmartCodec extends LZ4CompressionCodec {
    /** The first bytes of a frame of zstd. */
    private static final byte[] ZSTD_MAGIC = {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd};
    private static final int BLOCK_BYTES = 32 * 1024;
    /** Of so many blocks that are stored one is compressed, to know the ratio. */
    private static final int SAMPLED = 64;
    /** The ratio of less than that says nothing. */
    private static final int MIN_BYTES = 4096;

    /** What chooses in this JVM. */
    interface Chooser {
        /** What a stage is written with; always the same. */
        Compressor of(int stage);

        /** Bytes have been compressed. */
        void seen(Compressor compressor, long raw, long compressed);
    }

    private static volatile Chooser chooser;

    private final ZStdCompressionCodec zstd;

    /** As Spark makes codecs. */
    public SmartCodec(SparkConf conf) {
        super(conf);
        zstd = new ZStdCompressionCodec(conf);
    }

    /** Sets what chooses in this JVM. */
    static void use(Chooser one) {
        chooser = one;
    }

    @Override
    public OutputStream compressedOutputStream(OutputStream out) {
        TaskContext task = TaskContext.get();
        Chooser chooses = chooser;
        return task == null || chooses == null
                ? super.compressedOutputStream(out) : stream(out, chooses.of(task.stageId()), chooses);
    }

    /** A stream that is written with a compressor. */
    OutputStream stream(OutputStream out, Compressor compressor, Chooser chooses) {
        if (compressor == Compressor.NONE) {
            return new LZ4BlockOutputStream(out, BLOCK_BYTES, new Stored(chooses));
        }
        Counted below = new Counted(out);
        return new Counted(compressor == Compressor.ZSTD
                ? zstd.compressedOutputStream(below) : super.compressedOutputStream(below)) {
            private boolean isClosed;

            @Override
            public void close() throws IOException {
                super.close();
                if (!isClosed && count >= MIN_BYTES) {
                    chooses.seen(compressor, count, below.count);
                }
                isClosed = true;
            }
        };
    }

    @Override
    public OutputStream compressedContinuousOutputStream(OutputStream out) {
        return compressedOutputStream(out);
    }

    @Override
    public InputStream compressedInputStream(InputStream in) {
        PushbackInputStream peeked = new PushbackInputStream(in, ZSTD_MAGIC.length);
        try {
            byte[] first = peeked.readNBytes(ZSTD_MAGIC.length);
            peeked.unread(first);
            return Arrays.equals(first, ZSTD_MAGIC)
                    ? zstd.compressedInputStream(peeked) : super.compressedInputStream(peeked);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    @Override
    public InputStream compressedContinuousInputStream(InputStream in) {
        return compressedInputStream(in);
    }

    /** Counts what is written. */
    private static class Counted extends FilterOutputStream {
        long count;

        Counted(OutputStream out) {
            super(out);
        }

        @Override
        public void write(int one) throws IOException {
            out.write(one);
            count++;
        }

        @Override
        public void write(byte[] bytes, int begin, int length) throws IOException {
            out.write(bytes, begin, length);
            count += length;
        }
    }

    /** Gives up, so that blocks are stored, but for some. */
    private static final class Stored extends LZ4Compressor {
        private final LZ4Compressor lz4 = LZ4Factory.fastestInstance().fastCompressor();
        private final Chooser chooses;
        private int blocks;

        Stored(Chooser chooses) {
            this.chooses = chooses;
        }

        @Override
        public int compress(byte[] from, int begin, int length, byte[] to, int at, int most) {
            if (length < MIN_BYTES || blocks++ % SAMPLED != 0) {
                return length;
            }
            int size = lz4.compress(from, begin, length, to, at, most);
            chooses.seen(Compressor.LZ4, length, size);
            return size;
        }

        @Override
        public int compress(ByteBuffer from, int begin, int length, ByteBuffer to, int at, int most) {
            throw new UnsupportedOperationException("streams have arrays");
        }
    }
}
