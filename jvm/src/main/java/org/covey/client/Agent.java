package org.covey.client;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/**
 * The agent of this host, as an application speaks with it. One thread reads; any may say something. Flows that were
 * opened are gone when it is closed.
 */
public final class Agent implements AutoCloseable {
    /** The version of the messages. */
    public static final int VERSION = 5;

    private static final int OLDEST = 2;
    private static final int MAX_BYTES = 1 << 20;

    private final SocketChannel channel;
    private final InputStream in;
    private final ToApplication.Welcome welcome;

    private Agent(SocketChannel channel, InputStream in, ToApplication.Welcome welcome) {
        this.channel = channel;
        this.in = in;
        this.welcome = welcome;
    }

    /**
     * Joins an agent.
     *
     * @param socket its socket, {@code agent.sock} in the agent's folder
     * @throws IOException if there is none, or if it refuses or speaks no version that this client speaks
     */
    public static Agent join(Path socket) throws IOException {
        // An agent that speaks an older version only closes the connection.
        for (int version = VERSION; ; version--) {
            SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
            try {
                channel.connect(UnixDomainSocketAddress.of(socket));
                write(channel, new FromApplication.Hello(version));
                InputStream in = Channels.newInputStream(channel);
                ToApplication answer = read(in);
                if (answer instanceof ToApplication.Welcome welcome) {
                    return new Agent(channel, in, welcome);
                }
                throw new ProtocolException(socket + ": expected the agent's welcome, found " + answer);
            } catch (EOFException error) {
                channel.close();
                if (version == OLDEST) {
                    throw new ProtocolException(socket + ": the agent speaks no version from " + OLDEST + " to " + VERSION);
                }
            } catch (IOException error) {
                channel.close();
                throw error;
            }
        }
    }

    /** What the agent said first: the port of this host, and how it carries schedules out. */
    public ToApplication.Welcome welcome() {
        return welcome;
    }

    /**
     * Says something.
     *
     * @throws IOException if the agent is gone
     */
    public void say(FromApplication message) throws IOException {
        synchronized (channel) {
            write(channel, message);
        }
    }

    /**
     * Waits for what the agent says next.
     *
     * @throws EOFException if the agent has gone
     * @throws IOException if the connection is broken
     */
    public ToApplication next() throws IOException {
        return read(in);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    private static void write(SocketChannel channel, FromApplication message) throws IOException {
        ByteBuffer frame = ByteBuffer.wrap(message.frame());
        if (frame.capacity() > MAX_BYTES + 4) {
            throw new ProtocolException("expected a message of at most " + MAX_BYTES + " bytes: name fewer flows in one");
        }
        while (frame.hasRemaining()) {
            channel.write(frame);
        }
    }

    private static ToApplication read(InputStream in) throws IOException {
        DataInputStream data = new DataInputStream(in);
        int length = Integer.reverseBytes(data.readInt());
        if (length < 1 || length > MAX_BYTES) {
            throw new ProtocolException("agent: expected a frame of 1 to " + MAX_BYTES + " bytes, found " + length);
        }
        byte[] frame = new byte[length];
        data.readFully(frame);
        return ToApplication.read(frame);
    }
}
