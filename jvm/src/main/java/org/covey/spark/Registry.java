package org.covey.spark;

import java.io.IOException;
import java.util.List;

import org.covey.client.Coflow;
import org.covey.client.Coordinator;
import org.covey.client.Flow;
import org.covey.client.Update;

/** Where coflows are registered. */
interface Registry {
    /** Registers a coflow, and gives its number. */
    long register(Coflow coflow) throws IOException;

    /** Adds flows to a coflow. */
    void add(long coflow, List<Flow> flows) throws IOException;

    /** Ends a coflow. */
    void end(long coflow) throws IOException;

    /** The registry of a coordinator. */
    static Registry of(Coordinator coordinator) {
        return new Registry() {
            @Override
            public long register(Coflow coflow) throws IOException {
                return coordinator.register(coflow, coflow.name());
            }

            @Override
            public void add(long coflow, List<Flow> flows) throws IOException {
                coordinator.update(coflow, Update.add(flows));
            }

            @Override
            public void end(long coflow) throws IOException {
                coordinator.end(coflow);
            }
        };
    }
}
