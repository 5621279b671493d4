package org.covey.client;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/**
 * Named blocks. A block that is pushed waits in its connection until it is pulled; the sender returns when the receiver
 * has it. A block that is put stays here, and others get it any number of times until it is removed. Each transfer is a
 * flow of a coflow.
 */
public final class Blocks implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("covey");
    /** Maximum number of blocks that wait to be pulled; more are refused. */
    private static final int MAX_WAITING = 16_384;
    private static final int PIECE = 1 << 16;

    private record Name(long coflow, ByteBuffer label) {}

    private record Pushed(FlowHeader header, SocketChannel channel) {}

    private final Flows flows;
    private final ServerSocketChannel server;
    private final ExecutorService threads = Executors.newCachedThreadPool(Blocks::daemon);
    private final Map<Name, byte[]> put = new HashMap<>();
    private final Map<Name, Pushed> pushed = new HashMap<>();

    private Blocks(Flows flows, ServerSocketChannel server) {
        this.flows = flows;
        this.server = server;
        threads.execute(this::accept);
    }

    /**
     * Listens for blocks, and for requests of blocks.
     *
     * @param address where; port 0 for any
     * @throws IOException if the address cannot be used
     */
    public static Blocks listen(Flows flows, InetSocketAddress address) throws IOException {
        return new Blocks(flows, ServerSocketChannel.open().bind(address));
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "covey blocks");
        thread.setDaemon(true);
        return thread;
    }

    /** Where it listens. */
    public InetSocketAddress address() throws IOException {
        return (InetSocketAddress) server.getLocalAddress();
    }

    /**
     * Sends a block to the blocks at {@code to}. Returns when it has been pulled there.
     *
     * @param flow the flow that the transfer is
     * @param name of at most 255 bytes
     * @throws IOException if the flow is opened wrongly, refused or cancelled, or the connection breaks
     */
    public void push(FlowKey flow, InetSocketAddress to, byte[] name, byte[] data) throws IOException {
        try (SocketChannel channel = SocketChannel.open(to)) {
            flows.send(flow, channel, name, data);
        }
    }

    /**
     * Receives a block that is pushed here, now or later.
     *
     * @throws IOException if the block's connection breaks
     */
    public byte[] pull(long coflow, byte[] name) throws IOException {
        Name key = new Name(coflow, ByteBuffer.wrap(name.clone()));
        Pushed block = await(() -> pushed.remove(key));
        try (SocketChannel channel = block.channel) {
            return read(block.header, channel);
        }
    }

    /** Offers a block for others to get. */
    public synchronized void put(long coflow, byte[] name, byte[] data) {
        put.put(new Name(coflow, ByteBuffer.wrap(name.clone())), data);
        notifyAll();
    }

    /** Removes a block that has been put. Transfers that have begun still complete. */
    public synchronized void remove(long coflow, byte[] name) {
        put.remove(new Name(coflow, ByteBuffer.wrap(name)));
    }

    /** Removes all blocks of a coflow that have been put. */
    public synchronized void remove(long coflow) {
        put.keySet().removeIf(name -> name.coflow == coflow);
    }

    /**
     * Gets a block from the blocks at {@code from}. Waits until it has been put there.
     *
     * @param flow the flow that the transfer is
     * @throws IOException if the flow is refused, or the connection breaks
     */
    public byte[] get(FlowKey flow, InetSocketAddress from, byte[] name) throws IOException {
        try (SocketChannel channel = SocketChannel.open(from)) {
            ByteBuffer proof = flows.proof(flow, Direction.PULLED);
            FlowHeader request = new FlowHeader(Direction.PULLED, flow, -1, name, proof);
            Flows.writeAll(channel, ByteBuffer.wrap(request.encode()));
            FlowHeader answer = FlowHeader.read(new DataInputStream(Channels.newInputStream(channel)));
            if (answer.direction() != Direction.PUSHED || !answer.flow().equals(flow)) {
                throw new ProtocolException("expected flow " + flow + " itself, found " + answer);
            }
            if (!isTaken(answer, channel)) {
                throw new ProtocolException("flow " + flow + " comes from a host that has no right to send it");
            }
            return read(answer, channel);
        }
    }

    private synchronized <T> T await(Supplier<T> look) throws InterruptedIOException {
        try {
            T found = look.get();
            while (found == null) {
                wait();
                found = look.get();
            }
            return found;
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while a block was awaited");
        }
    }

    private void accept() {
        try {
            while (true) {
                SocketChannel channel = server.accept();
                threads.execute(() -> serve(channel));
            }
        } catch (IOException error) {
            if (server.isOpen()) {
                LOG.log(System.Logger.Level.WARNING, "no more blocks are taken: " + error);
            }
        }
    }

    private void serve(SocketChannel channel) {
        boolean isKept = false;
        try {
            FlowHeader header = FlowHeader.read(new DataInputStream(Channels.newInputStream(channel)));
            if (isTaken(header, channel)) {
                isKept = header.direction() == Direction.PUSHED && keep(header, channel);
                if (header.direction() == Direction.PULLED) {
                    Name name = new Name(header.flow().coflow(), ByteBuffer.wrap(header.label()));
                    flows.send(header.flow(), channel, header.label(), await(() -> put.get(name)));
                }
            }
        } catch (IOException error) {
            LOG.log(System.Logger.Level.WARNING, "a block was not moved: " + error);
        } finally {
            if (!isKept) {
                close(channel);
            }
        }
    }

    /** Whether a header is that of its flow; if not, the other side is told. */
    private boolean isTaken(FlowHeader header, SocketChannel channel) throws IOException {
        int reason = flows.check(header, (InetSocketAddress) channel.getRemoteAddress());
        if (reason != 0) {
            Flows.writeAll(channel, ByteBuffer.wrap(FlowHeader.refusal(reason)));
            channel.shutdownOutput();
        }
        return reason == 0;
    }

    private synchronized boolean keep(FlowHeader header, SocketChannel channel) {
        if (pushed.size() >= MAX_WAITING) {
            LOG.log(System.Logger.Level.WARNING, "a block was refused: " + MAX_WAITING + " wait to be pulled");
            return false;
        }
        Name name = new Name(header.flow().coflow(), ByteBuffer.wrap(header.label()));
        Pushed before = pushed.put(name, new Pushed(header, channel));
        if (before != null) {
            close(before.channel);
        }
        notifyAll();
        return true;
    }

    /** Reads a block, and says that it is here. */
    private static byte[] read(FlowHeader header, SocketChannel channel) throws IOException {
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        ByteBuffer piece = ByteBuffer.allocate(PIECE);
        for (long left = header.bytes(); left > 0; left -= piece.position()) {
            piece.clear().limit((int) Math.min(left, PIECE));
            if (channel.read(piece) < 0) {
                throw new EOFException("expected " + left + " more bytes of a block, found the end of its connection");
            }
            data.write(piece.array(), 0, piece.position());
        }
        ByteBuffer count = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(data.size()).flip();
        Flows.writeAll(channel, count);
        return data.toByteArray();
    }

    private static void close(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException error) {
            // It is of no use any more.
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
        threads.shutdownNow();
        synchronized (this) {
            pushed.values().forEach(block -> close(block.channel));
            pushed.clear();
        }
    }
}
