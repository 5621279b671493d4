package org.covey.spark;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import com.codahale.metrics.MetricSet;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockPushingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.MergeFinalizerListener;
import org.apache.spark.network.shuffle.MergedBlocksMetaListener;
import org.apache.spark.network.shuffle.checksum.Cause;

/** Fetches blocks as the client below it does, but for blocks of shuffles that have to wait. */
final class GatedClient extends BlockStoreClient {
    private final BlockStoreClient under;
    private final Gate gate;
    private final String host;
    private final Guard guard;

    /**
     * A client over another.
     *
     * @param host the host of this executor
     */
    GatedClient(BlockStoreClient under, Gate gate, String host, Guard guard) {
        this.under = under;
        this.gate = gate;
        this.host = host;
        this.guard = guard;
    }

    /** A method that this Spark's clients have and this one does not pass on; null if there is none. */
    static String unknownMethod() {
        for (Method method : BlockStoreClient.class.getDeclaredMethods()) {
            boolean isInner = method.isSynthetic() || method.getName().equals("checkInit");
            if (!isInner && !Modifier.isStatic(method.getModifiers()) && !Modifier.isPrivate(method.getModifiers())) {
                try {
                    GatedClient.class.getDeclaredMethod(method.getName(), method.getParameterTypes());
                } catch (NoSuchMethodException error) {
                    return method.getName();
                }
            }
        }
        return null;
    }

    @Override
    public void fetchBlocks(
            String from, int port, String executor, String[] blocks, BlockFetchingListener listener,
            DownloadFileManager files) {
        Runnable issue = () -> under.fetchBlocks(from, port, executor, blocks, listener, files);
        boolean[] isTaken = {false};
        guard.run("fetchBlocks", () -> {
            Gate.Request request = request(blocks, issue, listener);
            isTaken[0] = request != null && gate.takes(request);
        });
        if (!isTaken[0]) {
            issue.run();
        }
    }

    /** A request that may have to wait; null if it is not one of a task for blocks of a shuffle. */
    private Gate.Request request(String[] blocks, Runnable issue, BlockFetchingListener listener) {
        TaskContext task = TaskContext.get();
        if (task == null || blocks.length == 0 || !blocks[0].startsWith("shuffle_")) {
            return null;
        }
        Waiting key = new Waiting(task.stageId(), task.stageAttemptNumber(), host);
        Runnable fail = () -> Arrays.stream(blocks).forEach(block -> listener.onBlockFetchFailure(block, Gate.over()));
        return new Gate.Request(key, issue, fail, task::isCompleted);
    }

    @Override
    public Cause diagnoseCorruption(
            String from, int port, String executor, int shuffle, long map, int reduce, long checksum, String algorithm) {
        return under.diagnoseCorruption(from, port, executor, shuffle, map, reduce, checksum, algorithm);
    }

    @Override
    public MetricSet shuffleMetrics() {
        return under.shuffleMetrics();
    }

    @Override
    public void setAppAttemptId(String attempt) {
        under.setAppAttemptId(attempt);
    }

    @Override
    public String getAppAttemptId() {
        return under.getAppAttemptId();
    }

    @Override
    public void getHostLocalDirs(
            String from, int port, String[] executors, CompletableFuture<Map<String, String[]>> folders) {
        under.getHostLocalDirs(from, port, executors, folders);
    }

    @Override
    public void pushBlocks(
            String to, int port, String[] blocks, ManagedBuffer[] buffers, BlockPushingListener listener) {
        under.pushBlocks(to, port, blocks, buffers, listener);
    }

    @Override
    public void finalizeShuffleMerge(
            String at, int port, int shuffle, int merge, MergeFinalizerListener listener) {
        under.finalizeShuffleMerge(at, port, shuffle, merge, listener);
    }

    @Override
    public void getMergedBlockMeta(
            String at, int port, int shuffle, int merge, int reduce, MergedBlocksMetaListener listener) {
        under.getMergedBlockMeta(at, port, shuffle, merge, reduce, listener);
    }

    @Override
    public boolean removeShuffleMerge(String at, int port, int shuffle, int merge) {
        return under.removeShuffleMerge(at, port, shuffle, merge);
    }

    @Override
    public void close() throws IOException {
        under.close();
    }
}
