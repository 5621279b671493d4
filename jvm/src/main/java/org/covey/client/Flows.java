package org.covey.client;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The flows of an application. They keep the rates that the agent of this host says. Without an agent, or when it has
 * gone, they go at full speed. Threads may share one.
 */
public final class Flows implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("covey");
    /** Nobody answers a question after this time. */
    private static final long ANSWER_NS = TimeUnit.SECONDS.toNanos(10);
    /** The longest time that a flow waits for its turn at a stretch. */
    private static final long HOLD_MAX_NS = TimeUnit.SECONDS.toNanos(60);
    private static final double SECOND_NS = 1e9;
    /** Interval of reports where the agent asks for none: flows that say nothing count as idle. */
    private static final double REPORT_S = 0.25;
    private static final int CHUNK = 1 << 16;
    /** A rate is kept over such a time. */
    private static final double BURST_S = 0.005;

    private record Question(FlowKey flow, Direction direction) {}

    private final Agent agent;
    private final Map<FlowKey, ToApplication.Share> shares = new HashMap<>();
    private final Map<FlowKey, ToApplication.Opened> openings = new HashMap<>();
    private final Map<Question, ByteBuffer> proofs = new HashMap<>();
    private final Map<Integer, Integer> verdicts = new HashMap<>();
    /** Flows that this application sends, and those of them that are cancelled. */
    private final Set<FlowKey> open = new HashSet<>();
    private final Set<FlowKey> cancelled = new HashSet<>();
    private int nextCheck;
    private boolean isProving;
    private boolean isHeard = true;
    private boolean isAlone;

    private Flows(Agent agent) {
        this.agent = agent;
        isAlone = agent == null;
        if (agent != null) {
            Thread thread = new Thread(this::listen, "covey agent");
            thread.setDaemon(true);
            thread.start();
        }
    }

    /**
     * Flows that an agent schedules.
     *
     * @param socket the agent's socket
     * @throws IOException if there is none
     */
    public static Flows join(Path socket) throws IOException {
        return new Flows(Agent.join(socket));
    }

    /** Flows that nobody schedules. */
    public static Flows unscheduled() {
        return new Flows(null);
    }

    private void listen() {
        try {
            while (true) {
                hear(agent.next());
            }
        } catch (IOException error) {
            synchronized (this) {
                if (!isAlone) {
                    LOG.log(System.Logger.Level.WARNING, "the agent has gone, flows go on unscheduled: " + error);
                }
                isAlone = true;
                notifyAll();
            }
        }
    }

    private synchronized void hear(ToApplication message) {
        if (message instanceof ToApplication.Shares it) {
            it.flows().stream().filter(share -> open.contains(share.flow())).forEach(
                    share -> shares.put(share.flow(), share));
        } else if (message instanceof ToApplication.Acknowledged it) {
            it.flows().stream().filter(open::contains).forEach(cancelled::add);
        } else if (message instanceof ToApplication.CoordinatorHeard it) {
            isHeard = it.isHeard();
        } else if (message instanceof ToApplication.Proving it) {
            isProving = it.isProving();
        } else if (message instanceof ToApplication.Proofs it) {
            it.flows().forEach(proof -> proofs.put(new Question(proof.flow(), proof.direction()), proof.bytes()));
        } else if (message instanceof ToApplication.Checked it) {
            it.headers().forEach(verdict -> verdicts.put(verdict.number(), verdict.reason()));
        } else if (message instanceof ToApplication.Openings it) {
            it.flows().stream().filter(opened -> opened.side() == Side.SENDS).forEach(
                    opened -> openings.put(opened.flow(), opened));
        }
        notifyAll();
    }

    /** Waits until something is there; gives null if it is not in time, or the agent has gone. */
    private synchronized <T> T await(Supplier<T> look, long maxNs) throws InterruptedIOException {
        long end = System.nanoTime() + maxNs;
        while (true) {
            T found = look.get();
            long left = end - System.nanoTime();
            if (found != null || isAlone || left <= 0) {
                return found;
            }
            try {
                wait(Math.max(1, TimeUnit.NANOSECONDS.toMillis(left)));
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted while a flow waited for the agent");
            }
        }
    }

    private synchronized boolean asks() {
        return isProving && !isAlone;
    }

    /** The proof that the header of a flow shows; null for none. */
    ByteBuffer proof(FlowKey flow, Direction direction) throws IOException {
        if (!asks()) {
            return null;
        }
        agent.say(new FromApplication.Asks(List.of(new FromApplication.Ask(flow, direction))));
        ByteBuffer proof = await(() -> proofs.remove(new Question(flow, direction)), ANSWER_NS);
        return proof == null || proof.get(0) == 0 ? null : proof;
    }

    /** Why the header of a flow from another host is refused; 0 if it is taken. */
    int check(FlowHeader header, InetSocketAddress peer) throws IOException {
        if (!asks()) {
            return 0;
        }
        int number;
        synchronized (this) {
            number = nextCheck++;
        }
        ByteBuffer proof = header.proof() == null ? ByteBuffer.allocate(ToApplication.PROOF_BYTES) : header.proof();
        agent.say(new FromApplication.Checks(List.of(
                new FromApplication.Check(number, header.flow(), header.direction(), proof, peer))));
        Integer reason = await(() -> verdicts.remove(number), ANSWER_NS);
        return reason == null ? 0 : reason;
    }

    /**
     * Sends a flow over a connection, in its turn and at its rate. Returns when the receiver has all of it.
     *
     * @throws IOException if the flow is opened wrongly, refused or cancelled, or the connection breaks
     */
    void send(FlowKey flow, SocketChannel channel, byte[] label, byte[] data) throws IOException {
        boolean hasEnded = false;
        begin(flow, channel, data.length);
        try {
            checkOpening(flow);
            FlowHeader header = new FlowHeader(Direction.PUSHED, flow, data.length, label, proof(flow, Direction.PUSHED));
            writeAll(channel, ByteBuffer.wrap(header.encode()));
            write(flow, channel, ByteBuffer.wrap(data));
            byte[] count = new byte[8];
            new DataInputStream(Channels.newInputStream(channel)).readFully(count);
            FlowHeader.refuseRefusal(count);
            long had = ByteBuffer.wrap(count).order(ByteOrder.LITTLE_ENDIAN).getLong();
            if (had != data.length) {
                throw new ProtocolException("expected that " + data.length + " bytes arrive, the receiver had " + had);
            }
            hasEnded = true;
        } finally {
            end(flow, hasEnded, data.length);
        }
    }

    private synchronized void begin(FlowKey flow, SocketChannel channel, long bytes) throws IOException {
        if (!open.add(flow)) {
            throw new IOException("flow " + flow + " is already open");
        }
        if (!isAlone) {
            if (agent.welcome().version() >= 4) {
                agent.say(new FromApplication.Opens(List.of(new FromApplication.Opening(flow, Side.SENDS, bytes))));
            }
            agent.say(new FromApplication.Opened(List.of(flow)));
            if (agent.welcome().shapes()) {
                agent.say(new FromApplication.Connected(List.of(new FromApplication.Connection(
                        flow, (InetSocketAddress) channel.getLocalAddress(),
                        (InetSocketAddress) channel.getRemoteAddress()))));
            }
        }
    }

    private void checkOpening(FlowKey flow) throws IOException {
        boolean isAsked = agent != null && agent.welcome().version() >= 4;
        ToApplication.Opened opened = isAsked ? await(() -> openings.remove(flow), ANSWER_NS) : null;
        if (opened != null && opened.verdict() != 0) {
            throw new IOException("flow " + flow + " is opened wrongly: verdict " + opened.verdict() + ", "
                    + opened.number() + ", " + opened.bytes());
        }
    }

    private synchronized void end(FlowKey flow, boolean hasEnded, long bytes) {
        open.remove(flow);
        shares.remove(flow);
        openings.remove(flow);
        cancelled.remove(flow);
        try {
            if (!isAlone) {
                agent.say(hasEnded
                        ? new FromApplication.Ended(List.of(new FromApplication.Sending(flow, bytes, bytes)))
                        : new FromApplication.Gone(List.of(flow)));
            }
        } catch (IOException error) {
            // The thread that listens finds that the agent has gone.
        }
    }

    private void write(FlowKey flow, SocketChannel channel, ByteBuffer data) throws IOException {
        int layer = -1;
        double reportS = agent == null || agent.welcome().reportEveryS() <= 0 ? REPORT_S : agent.welcome().reportEveryS();
        long nextReport = System.nanoTime() + (long) (reportS * SECOND_NS);
        while (data.hasRemaining()) {
            ToApplication.Share turn = turn(flow);
            if (turn != null && agent.welcome().marks() && turn.layer() != layer) {
                layer = turn.layer();
                channel.setOption(StandardSocketOptions.IP_TOS, (7 - Math.min(layer, 6)) << 5);
            }
            double rate = turn == null || !agent.welcome().paces() ? Double.POSITIVE_INFINITY : turn.rate();
            int count = (int) Math.min(data.remaining(), Math.max(1448, Math.min(CHUNK, rate * BURST_S)));
            long begin = System.nanoTime();
            ByteBuffer chunk = data.slice(data.position(), count);
            writeAll(channel, chunk);
            data.position(data.position() + count);
            rest(begin + (long) (count / rate * SECOND_NS));
            if (System.nanoTime() - nextReport >= 0) {
                report(flow, data.position());
                nextReport = System.nanoTime() + (long) (reportS * SECOND_NS);
            }
        }
    }

    /** Waits until a flow may send, and gives how; null if nothing is said of it. */
    private ToApplication.Share turn(FlowKey flow) throws IOException {
        if (agent == null) {
            return null;
        }
        boolean waits = agent.welcome().paces() || agent.welcome().shapes();
        Boolean goes = await(() -> {
            ToApplication.Share share = shares.get(flow);
            boolean hasRate = share != null && share.rate() > 0;
            return !waits || !isHeard || hasRate || cancelled.contains(flow) ? true : null;
        }, HOLD_MAX_NS);
        synchronized (this) {
            if (cancelled.contains(flow)) {
                throw new IOException("flow " + flow + " is cancelled");
            }
            ToApplication.Share share = shares.get(flow);
            return goes == null || isAlone || share == null || share.rate() <= 0 ? null : share;
        }
    }

    private void report(FlowKey flow, long bytes) {
        try {
            if (agent != null) {
                agent.say(new FromApplication.Sent(List.of(new FromApplication.Sending(flow, bytes, bytes))));
            }
        } catch (IOException error) {
            // The thread that listens finds that the agent has gone.
        }
    }

    private static void rest(long until) throws InterruptedIOException {
        try {
            TimeUnit.NANOSECONDS.sleep(until - System.nanoTime());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while a flow kept its rate");
        }
    }

    static void writeAll(SocketChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    /** Leaves the agent. Flows that are open go on unscheduled. */
    @Override
    public void close() throws IOException {
        synchronized (this) {
            isAlone = true;
            notifyAll();
        }
        if (agent != null) {
            agent.close();
        }
    }
}
