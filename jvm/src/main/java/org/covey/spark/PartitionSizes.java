package org.covey.spark;

/** How a shuffle's bytes divide over the tasks that read it. */
@FunctionalInterface
interface PartitionSizes {
    /**
     * The bytes of each of the first partitions, over all maps, as far as Spark knows them.
     *
     * @param shuffle the shuffle
     * @param count number of partitions
     * @return null if they are not known
     */
    double[] of(int shuffle, int count);
}
