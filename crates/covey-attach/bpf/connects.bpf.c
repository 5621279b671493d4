/* Notes when connections begin: when a program asked for one (connect), and when it was established. Tells of each that
 * is established, in the order in which they are.
 *
 * scripts/bpf.sh builds connects.bpf.o from this file. */
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*const map_update_elem)(void *map, const void *key, const void *value, __u64 flags) =
	(void *)BPF_FUNC_map_update_elem;
static __u64 (*const ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static __u64 (*const get_socket_cookie)(void *ops) = (void *)BPF_FUNC_get_socket_cookie;
static long (*const ringbuf_output)(void *ring, void *data, __u64 size, __u64 flags) = (void *)BPF_FUNC_ringbuf_output;

/* In nanoseconds since the start of the machine. */
struct times {
	__u64 asked;
	__u64 established;
};

struct established {
	__u64 cookie;
	__u32 family;
	__u16 local_port;
	__u16 remote_port;
	/* In the order of the network; an address of IPv4 is the first word. */
	__u32 local[4];
	__u32 remote[4];
};

/* By the cookie of a socket. The oldest make room. */
struct {
	int (*type)[BPF_MAP_TYPE_LRU_HASH];
	int (*max_entries)[131072];
	__u64 *key;
	struct times *value;
} begun SEC(".maps");

/* Connections that are established, for whoever reads them in time. */
struct {
	int (*type)[BPF_MAP_TYPE_RINGBUF];
	int (*max_entries)[1 << 18];
} news SEC(".maps");

SEC("sockops") int connects(struct bpf_sock_ops *ops)
{
	__u64 now = ktime_get_ns();
	__u64 cookie = get_socket_cookie(ops);
	struct times times = { now, 0 };
	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		map_update_elem(&begun, &cookie, &times, BPF_ANY);
		return 1;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		break;
	default:
		return 1;
	}
	struct times *known = map_lookup_elem(&begun, &cookie);
	if (known)
		times.asked = known->asked;
	times.established = now;
	map_update_elem(&begun, &cookie, &times, BPF_ANY);

	struct established event = {
		.cookie = cookie,
		.family = ops->family,
		.local_port = ops->local_port,
		/* The port is in the second half of a word in the order of the network. */
		.remote_port = __builtin_bswap32(ops->remote_port),
	};
	if (event.family == 2) {
		event.local[0] = ops->local_ip4;
		event.remote[0] = ops->remote_ip4;
	} else {
		event.local[0] = ops->local_ip6[0];
		event.local[1] = ops->local_ip6[1];
		event.local[2] = ops->local_ip6[2];
		event.local[3] = ops->local_ip6[3];
		event.remote[0] = ops->remote_ip6[0];
		event.remote[1] = ops->remote_ip6[1];
		event.remote[2] = ops->remote_ip6[2];
		event.remote[3] = ops->remote_ip6[3];
	}
	/* If there is no room, the connection is seen at the next look. */
	ringbuf_output(&news, &event, sizeof(event), BPF_RB_NO_WAKEUP);
	return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
