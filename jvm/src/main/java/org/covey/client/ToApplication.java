package org.covey.client;

import java.nio.ByteBuffer;
import java.util.List;

/** What the agent of a host says to an application. */
public sealed interface ToApplication {
    /** Bytes of a proof. */
    int PROOF_BYTES = 33;

    /**
     * The application is heard.
     *
     * @param version the version that the agent speaks with it
     * @param port the port of the network that the host is
     * @param paces whether applications keep rates
     * @param marks whether packets are marked
     * @param shapes whether the host keeps rates
     * @param reportEveryS how often to say what flows have sent, in seconds
     */
    record Welcome(int version, int port, boolean paces, boolean marks, boolean shapes, double reportEveryS)
            implements ToApplication {}

    /**
     * Flows are served so from now on.
     *
     * @param flows the flows that have changed
     */
    record Shares(List<Share> flows) implements ToApplication {}

    /**
     * The ends of these flows are known to the coordinator.
     *
     * @param flows the flows
     */
    record Acknowledged(List<FlowKey> flows) implements ToApplication {}

    /**
     * Whether the agent hears the coordinator.
     *
     * @param isHeard whether it does
     * @param codec what flows that are opened now may come to be compressed with
     */
    record CoordinatorHeard(boolean isHeard, Codec codec) implements ToApplication {}

    /** The agent has no room, or speaks another version. */
    record Refused() implements ToApplication {}

    /**
     * The answers to {@link FromApplication.Asks}.
     *
     * @param flows the flows with their proofs
     */
    record Proofs(List<Proof> flows) implements ToApplication {}

    /**
     * The answers to {@link FromApplication.Checks}.
     *
     * @param headers the verdicts
     */
    record Checked(List<Verdict> headers) implements ToApplication {}

    /**
     * Whether headers show proofs, and are to be checked.
     *
     * @param isProving whether they do
     */
    record Proving(boolean isProving) implements ToApplication {}

    /**
     * The answers to {@link FromApplication.Opens}.
     *
     * @param flows what is registered of them
     */
    record Openings(List<Opened> flows) implements ToApplication {}

    /**
     * Bytes that the flows of a coflow may send before a schedule mentions them.
     *
     * @param bytes the bytes
     */
    record StartSmall(long bytes) implements ToApplication {}

    /**
     * How a flow is served.
     *
     * @param flow the flow
     * @param layer its class, 0 first
     * @param rate bytes per second on the wire; 0 waits
     * @param codec what it is compressed with
     */
    record Share(FlowKey flow, int layer, double rate, Codec codec) {}

    /**
     * The proof of a flow.
     *
     * @param flow the flow
     * @param direction who sends it
     * @param bytes the proof; zeros if its header shows none
     */
    record Proof(FlowKey flow, Direction direction, ByteBuffer bytes) {}

    /**
     * The verdict on a header.
     *
     * @param number the number that the check had
     * @param reason 0 if the flow is taken, or else why it is refused
     */
    record Verdict(int number, int reason) {}

    /**
     * What is registered of a flow.
     *
     * @param flow the flow
     * @param side the end at which it is open
     * @param verdict 0 if it is opened rightly, or else why not
     * @param number the port of the other end, or a number that belongs to the verdict
     * @param bytes its bytes, or those that belong to the verdict
     */
    record Opened(FlowKey flow, Side side, int verdict, int number, double bytes) {}

    /**
     * Reads what follows the length of a frame.
     *
     * @throws ProtocolException if it is no message
     */
    static ToApplication read(byte[] frame) throws ProtocolException {
        try {
            Bytes.In body = new Bytes.In(frame);
            ToApplication message = message(body.u8(), body);
            body.end();
            return message;
        } catch (Bytes.Broken error) {
            throw new ProtocolException("agent: " + error.getMessage());
        }
    }

    private static ToApplication message(int kind, Bytes.In body) {
        return switch (kind) {
            case 1 -> welcome(body);
            case 2 -> new Shares(body.list(it -> new Share(it.key(), it.u32(), it.amount(), Codec.of(it.u8()))));
            case 3 -> new Acknowledged(body.list(Bytes.In::key));
            case 4 -> new CoordinatorHeard(body.flag(), Codec.of(body.u8()));
            case 5 -> new Refused();
            case 6 -> new Proofs(body.list(it -> new Proof(it.key(), Direction.of(it.u8()), proof(it))));
            case 7 -> new Checked(body.list(it -> new Verdict(it.u32(), it.u8())));
            case 8 -> new Proving(body.flag());
            case 9 -> new Openings(body.list(
                    it -> new Opened(it.key(), Side.of(it.u8()), it.u8(), it.u32(), it.amount())));
            case 10 -> new StartSmall(body.u64());
            default -> Bytes.refuse("a message to an application", kind);
        };
    }

    private static Welcome welcome(Bytes.In body) {
        int version = body.u16();
        int port = body.u32();
        int means = body.u8();
        return new Welcome(version, port, (means & 1) != 0, (means & 2) != 0, (means & 4) != 0, body.amount());
    }

    private static ByteBuffer proof(Bytes.In body) {
        return ByteBuffer.wrap(body.raw(PROOF_BYTES)).asReadOnlyBuffer();
    }
}
