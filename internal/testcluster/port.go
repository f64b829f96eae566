package testcluster

import (
	"fmt"
	"syscall"
)

// loopback is the only address that a cluster listens on.
const loopback = "127.0.0.1"

// port is a TCP port on loopback that nobody else can get. It is kept by a
// socket that is bound and never listens, so it takes no connections; the API
// server binds the same port because both ask for port sharing and belong to
// the same user. Choosing a free port, letting it go and hoping would lose it
// to another test now and then.
type port struct {
	number int
	socket int
}

// soReusePort is SO_REUSEPORT, which package syscall lacks on some platforms.
const soReusePort = 0xf

func reservePort() (*port, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserving a port: %w", err)
	}
	p := &port{socket: socket}
	if p.number, err = bind(socket); err != nil {
		p.release()
		return nil, fmt.Errorf("reserving a port: %w", err)
	}
	return p, nil
}

// bind binds the socket to a free port of loopback and returns the port.
func bind(socket int) (int, error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, soReusePort, 1); err != nil {
		return 0, err
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	address, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	return address.(*syscall.SockaddrInet4).Port, nil
}

func (p *port) release() { _ = syscall.Close(p.socket) }
