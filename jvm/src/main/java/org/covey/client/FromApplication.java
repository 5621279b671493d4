package org.covey.client;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;

/** What an application says to the agent of its host. */
public sealed interface FromApplication {
    /**
     * The first message.
     *
     * @param version the version that the application speaks
     */
    record Hello(int version) implements FromApplication {}

    /**
     * The application sends these flows from now on, when it may.
     *
     * @param flows the flows
     */
    record Opened(List<FlowKey> flows) implements FromApplication {}

    /**
     * Flows have ended. Said again to an agent that comes back, until it has acknowledged the end.
     *
     * @param flows the flows, with all that was sent
     */
    record Ended(List<Sending> flows) implements FromApplication {}

    /**
     * What flows have sent so far.
     *
     * @param flows the flows
     */
    record Sent(List<Sending> flows) implements FromApplication {}

    /**
     * Flows are given up before their ends.
     *
     * @param flows the flows
     */
    record Gone(List<FlowKey> flows) implements FromApplication {}

    /**
     * Where flows that have been opened go.
     *
     * @param flows the flows
     */
    record Connected(List<Connection> flows) implements FromApplication {}

    /**
     * The sockets have the last bytes of these flows, which are served.
     *
     * @param flows the flows
     */
    record Written(List<FlowKey> flows) implements FromApplication {}

    /**
     * Proofs are asked for. From version 3 on.
     *
     * @param flows the flows that the application begins
     */
    record Asks(List<Ask> flows) implements FromApplication {}

    /**
     * Headers that others have sent are to be checked. From version 3 on.
     *
     * @param headers the headers
     */
    record Checks(List<Check> headers) implements FromApplication {}

    /**
     * The application opens these flows, or is sent them. From version 4 on; it comes before {@link Opened}.
     *
     * @param flows the flows
     */
    record Opens(List<Opening> flows) implements FromApplication {}

    /**
     * What a flow has sent.
     *
     * @param flow the flow
     * @param bytes its own bytes
     * @param wire the bytes that were sent for them
     */
    record Sending(FlowKey flow, double bytes, double wire) {}

    /**
     * The connection of a flow.
     *
     * @param flow the flow
     * @param from the sender's end
     * @param to the receiver's end
     */
    record Connection(FlowKey flow, InetSocketAddress from, InetSocketAddress to) {}

    /**
     * A flow that the application begins.
     *
     * @param flow the flow
     * @param direction who sends it
     */
    record Ask(FlowKey flow, Direction direction) {}

    /**
     * The header of a flow that has come from another host.
     *
     * @param number the number by which the answer names it
     * @param flow the flow that it claims to be
     * @param direction who sends it
     * @param proof the 33 bytes of its proof; zeros if it shows none
     * @param peer where it comes from
     */
    record Check(int number, FlowKey flow, Direction direction, ByteBuffer proof, InetSocketAddress peer) {}

    /**
     * A flow that the application opens.
     *
     * @param flow the flow
     * @param side the end at which it is open
     * @param bytes its bytes; infinite if they are not known
     */
    record Opening(FlowKey flow, Side side, double bytes) {}

    /** The frame of this message: a length, the kind, and the body. */
    default byte[] frame() {
        Bytes.Out out = new Bytes.Out();
        if (this instanceof Hello it) {
            out.u8(1).u16(it.version);
        } else if (this instanceof Opened it) {
            out.u8(2).list(it.flows, Bytes.Out::key);
        } else if (this instanceof Ended it) {
            out.u8(3).list(it.flows, FromApplication::sending);
        } else if (this instanceof Sent it) {
            out.u8(4).list(it.flows, FromApplication::sending);
        } else if (this instanceof Gone it) {
            out.u8(5).list(it.flows, Bytes.Out::key);
        } else if (this instanceof Connected it) {
            out.u8(6).list(it.flows, (to, flow) -> to.key(flow.flow).address(flow.from).address(flow.to));
        } else if (this instanceof Written it) {
            out.u8(7).list(it.flows, Bytes.Out::key);
        } else if (this instanceof Asks it) {
            out.u8(8).list(it.flows, (to, ask) -> to.key(ask.flow).u8(ask.direction.ordinal() + 1));
        } else if (this instanceof Checks it) {
            out.u8(9).list(it.headers, FromApplication::check);
        } else if (this instanceof Opens it) {
            out.u8(10).list(it.flows, (to, flow) -> to.key(flow.flow).u8(flow.side.ordinal()).f64(flow.bytes));
        }
        byte[] body = out.take();
        return new Bytes.Out().u32(body.length).raw(body).take();
    }

    private static void sending(Bytes.Out out, Sending flow) {
        out.key(flow.flow).f64(flow.bytes).f64(flow.wire);
    }

    private static void check(Bytes.Out out, Check header) {
        byte[] proof = new byte[ToApplication.PROOF_BYTES];
        header.proof.duplicate().get(proof);
        out.u32(header.number).key(header.flow).u8(header.direction.ordinal() + 1).raw(proof).address(header.peer);
    }
}
