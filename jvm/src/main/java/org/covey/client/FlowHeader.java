package org.covey.client;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * What the side that opens a flow's connection says first.
 *
 * @param direction who sends the flow
 * @param flow the flow
 * @param bytes its size; -1 if the header does not say it
 * @param label what the application calls it, of at most 255 bytes
 * @param proof the 33 bytes of its proof; null for none
 */
record FlowHeader(Direction direction, FlowKey flow, long bytes, byte[] label, ByteBuffer proof) {
    private static final int MAX_LABEL = 255;

    FlowHeader {
        if (label.length > MAX_LABEL) {
            throw new IllegalArgumentException("expected a name of at most 255 bytes, found " + label.length);
        }
    }

    /** The header as it is sent. The bytes of the flow follow without chunks. */
    byte[] encode() {
        Bytes.Out out = new Bytes.Out().raw(new byte[] {'C', 'V', 'F', (byte) (proof == null ? '2' : '3')});
        out.u8(direction.ordinal() + 1).u8(bytes < 0 ? 0 : 1).u8(bytes < 0 ? 1 : 0).u8(label.length);
        out.key(flow).u64(Math.max(bytes, 0));
        if (proof != null) {
            byte[] some = new byte[ToApplication.PROOF_BYTES];
            proof.duplicate().get(some);
            out.raw(some);
        }
        return out.raw(label).take();
    }

    /**
     * Reads a header.
     *
     * @throws ProtocolException if it is none, if it is a refusal, or if the flow comes in chunks
     */
    static FlowHeader read(DataInputStream in) throws IOException {
        byte[] first = new byte[8];
        in.readFully(first);
        refuseRefusal(first);
        boolean isKnown = first[0] == 'C' && first[1] == 'V' && first[2] == 'F' && (first[3] == '2' || first[3] == '3');
        if (!isKnown) {
            throw new ProtocolException("expected the header of a flow, found " + Arrays.toString(first));
        }
        byte[] rest = new byte[20];
        in.readFully(rest);
        try {
            Bytes.In body = new Bytes.In(rest);
            Direction direction = Direction.of(first[4]);
            FlowKey flow = body.key();
            long bytes = body.u64();
            if (direction == Direction.PUSHED && (first[5] != 1 || first[6] != 0 || bytes < 0)) {
                throw new ProtocolException(
                        "expected a flow of a known size that comes without chunks; this client reads no others");
            }
            byte[] proof = new byte[first[3] == '3' ? ToApplication.PROOF_BYTES : 0];
            in.readFully(proof);
            byte[] label = new byte[first[7] & 0xff];
            in.readFully(label);
            return new FlowHeader(
                    direction, flow, bytes, label, proof.length == 0 ? null : ByteBuffer.wrap(proof));
        } catch (Bytes.Broken error) {
            throw new ProtocolException("the header of a flow: " + error.getMessage());
        }
    }

    /** What the side sends that refuses a flow. */
    static byte[] refusal(int reason) {
        byte[] bytes = new byte[8];
        Arrays.fill(bytes, (byte) 0xff);
        bytes[0] = (byte) reason;
        return bytes;
    }

    /** Throws if these eight bytes are a refusal. */
    static void refuseRefusal(byte[] bytes) throws ProtocolException {
        for (int reason = 1; reason <= 5; reason++) {
            if (Arrays.equals(bytes, refusal(reason))) {
                throw new ProtocolException("the other side refuses the flow, for reason " + reason);
            }
        }
    }
}
