package org.covey.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;

/** The messages have the bytes that the Rust crates write and read. */
class LocalMessagesTest {
    private static final FlowKey KEY = new FlowKey(5, 6);
    private static final InetSocketAddress A = new InetSocketAddress("10.0.0.1", 4000);
    private static final InetSocketAddress B = new InetSocketAddress("2001:db8::1", 9000);

    private static ByteBuffer proof() {
        byte[] bytes = new byte[33];
        Arrays.fill(bytes, 1, 17, (byte) 7);
        bytes[0] = 1;
        return ByteBuffer.wrap(bytes);
    }

    private static Map<String, FromApplication> said() {
        List<FromApplication.Sending> sending = List.of(new FromApplication.Sending(KEY, 1e6, 4e5));
        Map<String, FromApplication> all = new LinkedHashMap<>();
        all.put("from_app.hello", new FromApplication.Hello(5));
        all.put("from_app.opened", new FromApplication.Opened(List.of(KEY, new FlowKey(-1, 0))));
        all.put("from_app.ended", new FromApplication.Ended(sending));
        all.put("from_app.sent", new FromApplication.Sent(sending));
        all.put("from_app.gone", new FromApplication.Gone(List.of(KEY)));
        all.put("from_app.connected", new FromApplication.Connected(List.of(new FromApplication.Connection(KEY, A, B))));
        all.put("from_app.written", new FromApplication.Written(List.of(KEY)));
        all.put("from_app.asks", new FromApplication.Asks(List.of(new FromApplication.Ask(KEY, Direction.PULLED))));
        all.put("from_app.checks", new FromApplication.Checks(
                List.of(new FromApplication.Check(9, KEY, Direction.PUSHED, proof(), A))));
        all.put("from_app.opens", new FromApplication.Opens(List.of(
                new FromApplication.Opening(KEY, Side.SENDS, 1e6),
                new FromApplication.Opening(KEY, Side.RECEIVES, Double.POSITIVE_INFINITY))));
        return all;
    }

    private static Map<String, ToApplication> heard() {
        Map<String, ToApplication> all = new LinkedHashMap<>();
        all.put("to_app.welcome", new ToApplication.Welcome(5, 7, true, true, false, 0.008));
        all.put("to_app.shares", new ToApplication.Shares(List.of(new ToApplication.Share(KEY, 2, 1.25e8, Codec.LZ4))));
        all.put("to_app.acknowledged", new ToApplication.Acknowledged(List.of(KEY)));
        all.put("to_app.coordinator", new ToApplication.CoordinatorHeard(true, Codec.ZSTD));
        all.put("to_app.refused", new ToApplication.Refused());
        all.put("to_app.proofs", new ToApplication.Proofs(
                List.of(new ToApplication.Proof(KEY, Direction.PUSHED, proof()))));
        all.put("to_app.checked", new ToApplication.Checked(
                List.of(new ToApplication.Verdict(9, 0), new ToApplication.Verdict(10, 1))));
        all.put("to_app.proving", new ToApplication.Proving(true));
        all.put("to_app.openings", new ToApplication.Openings(List.of(
                new ToApplication.Opened(KEY, Side.SENDS, 0, 3, 1e6),
                new ToApplication.Opened(KEY, Side.RECEIVES, 3, 8, 0))));
        all.put("to_app.start_small", new ToApplication.StartSmall(65_536));
        return all;
    }

    @Test
    void messagesHaveTheBytesOfTheRustCrates() throws Exception {
        Map<String, String> vectors = Vectors.read("covey-proto/tests/data/local-5.txt");
        HexFormat hex = HexFormat.of();
        for (Map.Entry<String, FromApplication> it : said().entrySet()) {
            assertEquals(vectors.get(it.getKey()), hex.formatHex(it.getValue().frame()), it.getKey());
        }
        for (Map.Entry<String, ToApplication> it : heard().entrySet()) {
            byte[] frame = hex.parseHex(vectors.getOrDefault(it.getKey(), ""));
            assertEquals(it.getValue(), ToApplication.read(Arrays.copyOfRange(frame, 4, frame.length)), it.getKey());
        }
        assertEquals(said().size() + heard().size(), vectors.size());
    }

    @Test
    void whatIsCutOffOrTooLongIsRefused() throws Exception {
        Map<String, String> vectors = Vectors.read("covey-proto/tests/data/local-5.txt");
        for (String name : heard().keySet()) {
            byte[] frame = HexFormat.of().parseHex(vectors.get(name));
            for (int length = 0; length < frame.length - 4; length++) {
                byte[] part = Arrays.copyOfRange(frame, 4, 4 + length);
                assertThrows(ProtocolException.class, () -> ToApplication.read(part), name);
            }
            byte[] longer = Arrays.copyOfRange(frame, 4, frame.length + 1);
            assertThrows(ProtocolException.class, () -> ToApplication.read(longer), name);
        }
    }
}
