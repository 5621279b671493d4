package org.covey.client;

import java.util.List;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;

/**
 * A coflow as it is registered.
 *
 * @param name what its framework calls it; null for none
 * @param parents the numbers of the coflows that it depends on
 * @param open whether it stays when its last flow has ended, because more flows are to come; null if not
 * @param leaseS seconds for which it is kept, now and each time that somebody keeps it; null for the coordinator's
 *     default
 * @param flows its flows
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonPropertyOrder({"name", "parents", "open", "lease_s", "flows"})
public record Coflow(
        String name, List<Long> parents, Boolean open, @JsonProperty("lease_s") Double leaseS, List<Flow> flows) {}
