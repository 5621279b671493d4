package org.covey.spark;

import java.util.Arrays;

import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;

/** Fetches blocks as the client below it does, but for blocks of shuffles that have to wait. */
final class GatedClient extends PassingClient {
    private final Gate gate;
    private final String host;
    private final Guard guard;

    /**
     * A client over another.
     *
     * @param host the host of this executor
     */
    GatedClient(BlockStoreClient under, Gate gate, String host, Guard guard) {
        super(under);
        this.gate = gate;
        this.host = host;
        this.guard = guard;
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
}
