package org.covey.spark;

import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.MapStatus;

import scala.Option;

/** The sizes of partitions that the driver knows of each map. Spark rounds them. */
final class MapStatuses implements PartitionSizes {
    @Override
    public double[] of(int shuffle, int count) {
        SparkEnv env = SparkEnv.get();
        if (env == null || !(env.mapOutputTracker() instanceof MapOutputTrackerMaster tracker)) {
            return null;
        }
        Option<ShuffleStatus> status = tracker.shuffleStatuses().get(shuffle);
        return status.isEmpty() ? null : status.get().withMapStatuses(maps -> sums(maps, count));
    }

    private static double[] sums(MapStatus[] maps, int count) {
        double[] sums = new double[count];
        for (MapStatus map : maps) {
            for (int k = 0; map != null && k < count; k++) {
                try {
                    sums[k] += map.getSizeForBlock(k);
                } catch (ArrayIndexOutOfBoundsException error) {
                    // The stage has more tasks than the shuffle has partitions: tasks read parts of them.
                    return null;
                }
            }
        }
        return sums;
    }
}
