package org.covey.spark;

import java.lang.management.ManagementFactory;

import com.sun.management.OperatingSystemMXBean;

/** The host's processor. */
final class Processor {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private Processor() {}

    /** The cores that other processes leave to this one, on average since the last time. */
    static double left() {
        // Negative if they are not known.
        double others = Math.max(0, SYSTEM.getCpuLoad() - Math.max(0, SYSTEM.getProcessCpuLoad()));
        return SYSTEM.getAvailableProcessors() * (1 - Math.min(1, others));
    }
}
