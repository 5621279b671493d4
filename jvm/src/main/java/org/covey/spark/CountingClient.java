package org.covey.spark;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;

/** Fetches blocks as the client below it does, and counts the bytes of those of shuffles as they come. */
final class CountingClient extends PassingClient {
    private final String executor;
    private final Transfers received;
    private final Guard guard;

    /**
     * A client over another.
     *
     * @param executor this executor's id
     * @param received where bytes are added
     */
    CountingClient(BlockStoreClient under, String executor, Transfers received, Guard guard) {
        super(under);
        this.executor = executor;
        this.received = received;
        this.guard = guard;
    }

    @Override
    public void fetchBlocks(
            String host, int port, String from, String[] blocks, BlockFetchingListener listener,
            DownloadFileManager files) {
        BlockFetchingListener[] heard = {listener};
        guard.run("fetchBlocks that counts", () -> {
            int shuffle = blocks.length == 0 ? -1 : shuffle(blocks[0]);
            if (shuffle >= 0) {
                TaskContext task = TaskContext.get();
                heard[0] = new Listener(listener, new Transfers.Key(
                        task == null ? -1 : task.stageId(), task == null ? -1 : task.stageAttemptNumber(),
                        shuffle, from, executor));
            }
        });
        under.fetchBlocks(host, port, from, blocks, heard[0], files);
    }

    /** The shuffle of a block; -1 if it is of none. A request has blocks of one shuffle. */
    static int shuffle(String block) {
        if (!block.startsWith("shuffle")) {
            return -1;
        }
        String[] parts = block.split("_", 3);
        return parts.length == 3 && parts[1].matches("\\d{1,9}") ? Integer.parseInt(parts[1]) : -1;
    }

    /** A method that this Spark's listeners have and those here do not pass on; null if there is none. */
    static String unknownMethod() {
        for (Method method : BlockFetchingListener.class.getMethods()) {
            if (!Modifier.isStatic(method.getModifiers())) {
                try {
                    Listener.class.getDeclaredMethod(method.getName(), method.getParameterTypes());
                } catch (NoSuchMethodException error) {
                    return method.getName();
                }
            }
        }
        return null;
    }

    /** Counts before it passes on: what a task has read is counted when the task ends. */
    private final class Listener implements BlockFetchingListener {
        private final BlockFetchingListener listener;
        private final Transfers.Key key;

        Listener(BlockFetchingListener listener, Transfers.Key key) {
            this.listener = listener;
            this.key = key;
        }

        private void count(ManagedBuffer data) {
            guard.run("onBlockFetchSuccess", () -> received.add(key, data.size()));
        }

        @Override
        public void onBlockFetchSuccess(String block, ManagedBuffer data) {
            count(data);
            listener.onBlockFetchSuccess(block, data);
        }

        @Override
        public void onBlockFetchFailure(String block, Throwable error) {
            listener.onBlockFetchFailure(block, error);
        }

        @Override
        public void onBlockTransferSuccess(String block, ManagedBuffer data) {
            count(data);
            listener.onBlockTransferSuccess(block, data);
        }

        @Override
        public void onBlockTransferFailure(String block, Throwable error) {
            listener.onBlockTransferFailure(block, error);
        }

        @Override
        public String getTransferType() {
            return listener.getTransferType();
        }
    }
}
