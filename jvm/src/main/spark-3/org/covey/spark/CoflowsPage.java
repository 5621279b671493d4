package org.covey.spark;

import java.util.List;
import java.util.function.Supplier;

import javax.servlet.http.HttpServletRequest;
import org.apache.spark.ui.UIUtils;
import org.apache.spark.ui.WebUIPage;

import scala.Option;
import scala.collection.immutable.List$;
import scala.xml.Node;
import scala.xml.Unparsed;

/** The page of coflows. Each version of Spark has its own servlets, and so its own source of this class. */
final class CoflowsPage extends WebUIPage {
    private final CoflowsTab tab;
    private final Supplier<List<CoflowRow>> rows;

    CoflowsPage(CoflowsTab tab, Supplier<List<CoflowRow>> rows) {
        super("");
        this.tab = tab;
        this.rows = rows;
    }

    @Override
    public scala.collection.Seq<Node> render(HttpServletRequest request) {
        String stage = UIUtils.prependBaseUri(request, tab.basePath(), "/stages/stage/");
        Node table = new Unparsed(CoflowsTable.html(rows.get(), stage));
        return UIUtils.headerSparkPage(
                request, "Coflows", () -> List$.MODULE$.<Node>empty().$colon$colon(table), tab, Option.empty(), false, false);
    }
}
