package org.covey.spark;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import com.codahale.metrics.MetricSet;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockPushingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.MergeFinalizerListener;
import org.apache.spark.network.shuffle.MergedBlocksMetaListener;
import org.apache.spark.network.shuffle.checksum.Cause;

/** Passes all to the client below it, but for the blocks that are fetched. */
abstract class PassingClient extends BlockStoreClient {
    /** The client below. */
    protected final BlockStoreClient under;

    PassingClient(BlockStoreClient under) {
        this.under = under;
    }

    /** A method that this Spark's clients have and this one does not pass on; null if there is none. */
    static String unknownMethod() {
        for (Method method : BlockStoreClient.class.getDeclaredMethods()) {
            boolean isInner = method.isSynthetic() || method.getName().equals("checkInit");
            boolean isFetch = method.getName().equals("fetchBlocks") && Modifier.isAbstract(method.getModifiers());
            boolean isVisible = !Modifier.isStatic(method.getModifiers()) && !Modifier.isPrivate(method.getModifiers());
            if (isVisible && !isInner && !isFetch) {
                try {
                    PassingClient.class.getDeclaredMethod(method.getName(), method.getParameterTypes());
                } catch (NoSuchMethodException error) {
                    return method.getName();
                }
            }
        }
        return null;
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
