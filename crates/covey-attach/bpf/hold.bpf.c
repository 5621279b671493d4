/* Holds the flows of a cgroup whose sockets are in the map `held`: their data does not leave the host. Packets of at
 * most 100 bytes pass, so acknowledgements of what the other side sends flow; and every ten seconds one of any length,
 * so that few connections are given up. A socket that is not in the map is left alone. Nobody is held if the process
 * that holds has not written into `beat` for two seconds: it may have been stopped.
 *
 * scripts/bpf.sh builds hold.bpf.o from this file. */
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static __u64 (*const ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static __u64 (*const get_socket_cookie)(void *skb) = (void *)BPF_FUNC_get_socket_cookie;

#define SMALL 100
#define PASS_EVERY_NS (10ull * 1000 * 1000 * 1000)
#define BEAT_NS (2ull * 1000 * 1000 * 1000)

/* By the cookie of a socket: when it was last let through, in nanoseconds since the start of the machine. */
struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	int (*max_entries)[131072];
	__u64 *key;
	__u64 *value;
} held SEC(".maps");

/* When the process that holds was last there, in the same nanoseconds. */
struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[1];
	__u32 *key;
	__u64 *value;
} beat SEC(".maps");

SEC("cgroup_skb/egress") int hold(struct __sk_buff *skb)
{
	__u64 cookie = get_socket_cookie(skb);
	__u64 *passed = map_lookup_elem(&held, &cookie);
	if (!passed || skb->len <= SMALL)
		return 1;
	__u64 now = ktime_get_ns();
	__u32 first = 0;
	__u64 *beaten = map_lookup_elem(&beat, &first);
	if (!beaten || (now > *beaten && now - *beaten > BEAT_NS))
		return 1;
	if (now < *passed || now - *passed < PASS_EVERY_NS)
		return 0;
	*passed = now;
	return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
