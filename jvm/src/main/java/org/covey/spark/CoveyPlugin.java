package org.covey.spark;

import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/** Registers each shuffle of an application with Covey's coordinator. Whatever fails in it, the application goes on. */
public class CoveyPlugin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return new Driver(guard());
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new Executor(guard());
    }

    /** What runs callbacks. */
    protected Guard guard() {
        return new Guard();
    }
}
