/* Holds the flows of a cgroup whose sockets are in the map `held`: their data does not leave the host. Packets of at
 * most 100 bytes pass, so acknowledgements of what the other side sends flow; and every ten seconds one of any length,
 * so that few connections are given up. What has been sent before may be sent again: if a packet is lost while its flow
 * is held and is kept back, TCP waits longer after each try, and still waits when the flow is let go. A socket that is
 * not in the map is left alone. Nobody is held after the time in `until`, which the process that holds puts off as long
 * as it follows what its flows do: one that has been stopped, or that gets no processor, holds nobody.
 *
 * scripts/bpf.sh builds hold.bpf.o from this file. */
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))

static void *(*const map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static __u64 (*const ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static __u64 (*const get_socket_cookie)(void *skb) = (void *)BPF_FUNC_get_socket_cookie;
static long (*const skb_load_bytes)(const void *skb, __u32 at, void *to, __u32 length) = (void *)BPF_FUNC_skb_load_bytes;
static struct bpf_sock *(*const sk_fullsock)(struct bpf_sock *sk) = (void *)BPF_FUNC_sk_fullsock;
static struct bpf_tcp_sock *(*const tcp_sock)(struct bpf_sock *sk) = (void *)BPF_FUNC_tcp_sock;

#define SMALL 100
#define PASS_EVERY_NS (10ull * 1000 * 1000 * 1000)

/* By the cookie of a socket: when it was last let through, in nanoseconds since the start of the machine. */
struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	int (*max_entries)[131072];
	__u64 *key;
	__u64 *value;
} held SEC(".maps");

/* Until when flows are held, in the same nanoseconds. */
struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[1];
	__u32 *key;
	__u64 *value;
} until SEC(".maps");

/* Whether a packet was sent before: it begins before what TCP sends next. */
static __attribute__((always_inline)) int was_sent(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	if (!sk)
		return 0;
	sk = sk_fullsock(sk);
	if (!sk)
		return 0;
	struct bpf_tcp_sock *tcp = tcp_sock(sk);
	if (!tcp)
		return 0;
	__u8 first;
	__u32 seq;
	if (skb_load_bytes(skb, 0, &first, 1))
		return 0;
	/* The header of IPv4 says its length in words; that of IPv6 has 40 bytes. */
	__u32 at = (first >> 4) == 4 ? (first & 15) * 4 : 40;
	if (skb_load_bytes(skb, at + 4, &seq, 4))
		return 0;
	return (__s32)(__builtin_bswap32(seq) - tcp->snd_nxt) < 0;
}

SEC("cgroup_skb/egress") int hold(struct __sk_buff *skb)
{
	/* First what costs little: most of the time nobody is held. */
	__u64 now = ktime_get_ns();
	__u32 first = 0;
	__u64 *end = map_lookup_elem(&until, &first);
	if (!end || now > *end || skb->len <= SMALL)
		return 1;
	__u64 cookie = get_socket_cookie(skb);
	__u64 *passed = map_lookup_elem(&held, &cookie);
	if (!passed || was_sent(skb))
		return 1;
	if (now < *passed || now - *passed < PASS_EVERY_NS)
		return 0;
	*passed = now;
	return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
