package org.covey.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.status.AppHistoryServerPlugin;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.util.kvstore.KVStore;
import org.apache.spark.util.kvstore.KVStoreIterator;

import scala.collection.immutable.List$;

/** The tab of coflows in the history server, from what the event log has of them. */
public final class CoflowsHistory implements AppHistoryServerPlugin {
    @Override
    public scala.collection.immutable.List<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store) {
        SparkListener listener = new SparkListener() {
            @Override
            public void onOtherEvent(SparkListenerEvent event) {
                if (event instanceof CoflowRow) {
                    store.write(event);
                }
            }
        };
        return List$.MODULE$.<SparkListener>empty().$colon$colon(listener);
    }

    @Override
    public void setupUI(SparkUI ui) {
        KVStore store = ui.store().store();
        if (!rows(store).isEmpty()) {
            CoflowsTab.attach(ui, () -> rows(store));
        }
    }

    /** The coflows of an application, in their order. */
    static List<CoflowRow> rows(KVStore store) {
        List<CoflowRow> rows = new ArrayList<>();
        try (KVStoreIterator<CoflowRow> all = store.view(CoflowRow.class).closeableIterator()) {
            all.forEachRemaining(rows::add);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
        return rows;
    }
}
