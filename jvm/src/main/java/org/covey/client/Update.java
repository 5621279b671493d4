package org.covey.client;

import java.util.List;

import com.fasterxml.jackson.annotation.JsonInclude;

/**
 * A change of a coflow that is present.
 *
 * @param add flows that begin now
 * @param restart indices of flows that have lost what they sent
 * @param cancel indices of flows that nobody needs any more
 * @param open whether more flows are to come; null if that stays
 */
@JsonInclude(value = JsonInclude.Include.NON_EMPTY)
public record Update(List<Flow> add, List<Integer> restart, List<Integer> cancel, Boolean open) {
    /** An update that adds flows. */
    public static Update add(List<Flow> flows) {
        return new Update(flows, List.of(), List.of(), null);
    }
}
