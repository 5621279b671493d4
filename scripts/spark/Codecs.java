import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import java.util.function.BiConsumer;

import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Prints how many bytes each codec of Spark writes for each byte that lz4 writes, as a table, and the least and the
 * most. The bytes are rows as SQL's shuffles write them, in blocks of a small and of a large reduce partition; codecs
 * are Spark's own with their defaults.
 */
public class Codecs {
    private static final String[] CODECS = {"lz4", "lzf", "snappy", "zstd"};
    private static final int[] BLOCKS = {16 << 10, 1 << 20};
    private static final String[] WORDS = ("the of quickly carefully final requests deposits packages accounts pending "
            + "furiously regular express theodolites sleep haggle nag wake among special ideas ironic foxes blithely "
            + "bold instructions platelets dependencies even silent unusual across after about slyly").split(" ");

    /** A kind of rows: its number of columns, and what row number `row` has. */
    private record Kind(String name, int columns, BiConsumer<UnsafeRowWriter, Integer> fill) {}

    private static final Random random = new Random(1);

    private static void text(UnsafeRowWriter row, int column, String text) {
        row.write(column, UTF8String.fromString(text));
    }

    private static String words(int count) {
        StringBuilder text = new StringBuilder();
        for (int k = 0; k < count; k++) {
            text.append(k == 0 ? "" : " ").append(WORDS[random.nextInt(WORDS.length)]);
        }
        return text.toString();
    }

    private static final Kind[] KINDS = {
        new Kind("a counter and a sum of it", 2, (row, k) -> {
            row.write(0, (long) k);
            row.write(1, 10L * k);
        }),
        new Kind("keys of six million and counts", 2, (row, k) -> {
            row.write(0, (long) random.nextInt(6_000_000));
            row.write(1, (long) random.nextInt(50));
        }),
        new Kind("orders: keys, dates, prices, clerks", 5, (row, k) -> {
            row.write(0, (long) random.nextInt(6_000_000));
            row.write(1, 8000 + random.nextInt(2500));
            row.write(2, 90_000L + random.nextInt(50_000_000));
            text(row, 3, String.format("Clerk#%09d", random.nextInt(1000)));
            text(row, 4, new String[] {"1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW"}[random.nextInt(4)]);
        }),
        new Kind("keys and comments", 2, (row, k) -> {
            row.write(0, (long) random.nextInt(6_000_000));
            text(row, 1, words(4 + random.nextInt(12)));
        }),
        new Kind("events as JSON", 2, (row, k) -> {
            row.write(0, 1_767_225_600_000L + 37L * k);
            text(row, 1, String.format(
                    "{\"user\":%d,\"page\":\"/%s/%s\",\"agent\":\"Mozilla/5.0\",\"ms\":%d,\"referrer\":\"https://www.example.org/%s\"}",
                    random.nextInt(1_000_000), words(1), words(1), random.nextInt(3000), words(1)));
        }),
        new Kind("random identifiers", 2, (row, k) -> {
            text(row, 0, new java.util.UUID(random.nextLong(), random.nextLong()).toString());
            row.write(1, (long) random.nextInt(1000));
        }),
        new Kind("keys and four measurements", 5, (row, k) -> {
            row.write(0, (long) random.nextInt(6_000_000));
            for (int column = 1; column < 5; column++) {
                row.write(column, random.nextGaussian());
            }
        }),
    };

    /** Blocks of rows, each with its length before it. */
    private static byte[][] blocks(Kind kind, int bytes, int count) {
        UnsafeRowWriter writer = new UnsafeRowWriter(kind.columns);
        byte[][] blocks = new byte[count][];
        int number = 0;
        for (int block = 0; block < count; block++) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            while (out.size() < bytes) {
                writer.reset();
                writer.zeroOutNullBytes();
                kind.fill.accept(writer, number++);
                UnsafeRow row = writer.getRow();
                byte[] rowBytes = row.getBytes();
                out.writeBytes(ByteBuffer.allocate(4).putInt(rowBytes.length).array());
                out.writeBytes(rowBytes);
            }
            blocks[block] = out.toByteArray();
        }
        return blocks;
    }

    private static long written(CompressionCodec codec, byte[][] blocks) throws Exception {
        long written = 0;
        for (byte[] block : blocks) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (OutputStream out = codec.compressedOutputStream(bytes)) {
                out.write(block);
            }
            written += bytes.size();
        }
        return written;
    }

    public static void main(String[] arguments) throws Exception {
        SparkConf settings = new SparkConf(false);
        double[] least = new double[CODECS.length + 1];
        double[] most = new double[CODECS.length + 1];
        Arrays.fill(least, Double.MAX_VALUE);
        System.out.println("| rows | block | none | lzf | snappy | zstd |");
        System.out.println("|---|--:|--:|--:|--:|--:|");
        for (Kind kind : KINDS) {
            for (int bytes : BLOCKS) {
                byte[][] blocks = blocks(kind, bytes, (8 << 20) / bytes);
                double raw = Arrays.stream(blocks).mapToLong(block -> block.length).sum();
                double[] ratios = new double[CODECS.length + 1];
                double lz4 = 0;
                for (int k = 0; k < CODECS.length; k++) {
                    long written = written(CompressionCodec.createCodec(settings, CODECS[k]), blocks);
                    lz4 = k == 0 ? written : lz4;
                    ratios[k] = written / lz4;
                }
                ratios[CODECS.length] = raw / lz4;
                for (int k = 0; k < ratios.length; k++) {
                    least[k] = Math.min(least[k], ratios[k]);
                    most[k] = Math.max(most[k], ratios[k]);
                }
                System.out.printf("|%s | %d KiB | %.2f | %.2f | %.2f | %.2f |%n",
                        bytes == BLOCKS[0] ? " " + kind.name : "", bytes >> 10, ratios[4], ratios[1], ratios[2], ratios[3]);
            }
        }
        for (double[] ends : new double[][] {least, most}) {
            System.out.printf("| %s | | %.2f | %.2f | %.2f | %.2f |%n",
                    ends == least ? "least" : "most", ends[4], ends[1], ends[2], ends[3]);
        }
    }
}
