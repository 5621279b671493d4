package org.covey.client;

import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** Numbers as little-endian bytes. */
final class Bytes {
    private static final int ADDRESS_BYTES = 16;

    private Bytes() {}

    /** A body that breaks the protocol. */
    static final class Broken extends RuntimeException {
        private static final long serialVersionUID = 1;

        Broken(String message) {
            super(message);
        }
    }

    static <T> T refuse(String expected, long found) {
        throw new Broken("expected " + expected + ", found " + found);
    }

    /** A body in the making. */
    static final class Out {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        private Out put(ByteBuffer buffer) {
            bytes.write(buffer.array(), 0, buffer.capacity());
            return this;
        }

        private static ByteBuffer of(int count) {
            return ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
        }

        Out u8(int number) {
            bytes.write(number);
            return this;
        }

        Out u16(int number) {
            return put(of(2).putShort((short) number));
        }

        Out u32(int number) {
            return put(of(4).putInt(number));
        }

        Out u64(long number) {
            return put(of(8).putLong(number));
        }

        Out f64(double number) {
            return put(of(8).putDouble(number));
        }

        Out raw(byte[] some) {
            bytes.writeBytes(some);
            return this;
        }

        Out key(FlowKey key) {
            return u64(key.coflow()).u32(key.flow());
        }

        /** An address of IPv4 is written as it is mapped to IPv6. */
        Out address(InetSocketAddress address) {
            if (address.isUnresolved()) {
                throw new IllegalArgumentException("expected an address, found the name " + address.getHostString());
            }
            byte[] ip = address.getAddress().getAddress();
            if (ip.length < ADDRESS_BYTES) {
                raw(new byte[10]).u8(0xff).u8(0xff);
            }
            return raw(ip).u16(address.getPort());
        }

        <T> Out list(List<T> items, BiConsumer<Out, T> write) {
            u32(items.size());
            items.forEach(item -> write.accept(this, item));
            return this;
        }

        byte[] take() {
            return bytes.toByteArray();
        }
    }

    /** A body that is read. Each method throws {@link Broken} where it ends too early. */
    static final class In {
        private final ByteBuffer rest;

        In(byte[] body) {
            rest = ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN);
        }

        private void need(int count) {
            if (rest.remaining() < count) {
                refuse(count + " more bytes", rest.remaining());
            }
        }

        int u8() {
            need(1);
            return rest.get() & 0xff;
        }

        int u16() {
            need(2);
            return rest.getShort() & 0xffff;
        }

        int u32() {
            need(4);
            return rest.getInt();
        }

        long u64() {
            need(8);
            return rest.getLong();
        }

        /** A number that is not below zero; it may be infinite. */
        double amount() {
            need(8);
            double number = rest.getDouble();
            if (!(number >= 0)) {
                throw new Broken("expected a number that is not below 0, found " + number);
            }
            return number;
        }

        boolean flag() {
            int number = u8();
            return number == 1 || number != 0 && Bytes.<Boolean>refuse("0 or 1", number);
        }

        byte[] raw(int count) {
            need(count);
            byte[] some = new byte[count];
            rest.get(some);
            return some;
        }

        FlowKey key() {
            return new FlowKey(u64(), u32());
        }

        InetSocketAddress address() {
            try {
                return new InetSocketAddress(InetAddress.getByAddress(raw(ADDRESS_BYTES)), u16());
            } catch (UnknownHostException error) {
                throw new Broken(error.getMessage());
            }
        }

        <T> List<T> list(Function<In, T> read) {
            int count = u32();
            // Each item has a byte at least: a count of more is no list.
            if (count < 0 || count > rest.remaining()) {
                refuse("a list that fits", count);
            }
            List<T> items = new ArrayList<>(count);
            for (int k = 0; k < count; k++) {
                items.add(read.apply(this));
            }
            return List.copyOf(items);
        }

        void end() {
            if (rest.hasRemaining()) {
                refuse("the end of the message", rest.remaining());
            }
        }
    }
}
