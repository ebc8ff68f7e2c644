// Package client sends requests to `/v1` of Shardboard and of Redis Software.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// MaxAttempts is the number of times that a request is sent before its failure is returned.
	MaxAttempts = 5
	// busyPatience is the time for which requests are repeated while their object is busy with another operation.
	busyPatience = 2 * time.Minute
	// maxReply is the largest reply that is read, in bytes.
	maxReply = 64 << 20
	// maxPause limits the pauses between attempts if the replies ask for none.
	maxPause = 10 * time.Second
	// maxRetryAfter limits the pause that a reply can ask for.
	maxRetryAfter = time.Minute
)

// Object is a JSON object of the API. Numbers are json.Number, because float64 changes large integers.
type Object = map[string]any

// Options select the console and the credentials: a token, or a username and password.
type Options struct {
	URL           string
	Username      string
	Password      string
	Token         string
	CACertificate []byte // PEM; the CAs of the machine if empty
	Insecure      bool   // accept any certificate
	Timeout       time.Duration
	UserAgent     string
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	base       *url.URL
	options    Options
	http       *http.Client
	firstPause time.Duration
}

// New checks the options. It sends no request.
func New(options Options) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(options.URL, "/"))
	if err != nil || (base.Scheme != "https" && base.Scheme != "http") || base.Host == "" {
		return nil, errors.New("the URL must start with https:// or http:// and contain a host")
	}
	if base.User != nil || base.RawQuery != "" || base.Path != "" {
		return nil, errors.New("the URL must only contain scheme, host, and port, such as https://console.example.org:9443")
	}
	if options.Token == "" && (options.Username == "" || options.Password == "") {
		return nil, errors.New("set a token, or a username and a password")
	}
	if options.Token != "" && (options.Username != "" || options.Password != "") {
		return nil, errors.New("set either a token, or a username and a password, not both")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: options.Insecure}
	if len(options.CACertificate) > 0 {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(options.CACertificate) {
			return nil, errors.New("the CA certificate is not a certificate in PEM format")
		}
	}
	if options.Timeout == 0 {
		options.Timeout = 30 * time.Second
	}
	return &Client{
		base:    base,
		options: options,
		http: &http.Client{
			Transport: transport,
			Timeout:   options.Timeout,
			// Go sends the credentials to every host of the same domain.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		firstPause: 500 * time.Millisecond,
	}, nil
}

// Get reads an object.
func (c *Client) Get(ctx context.Context, path string) (Object, error) {
	return c.object(ctx, http.MethodGet, path, nil)
}

// List reads a list of objects.
func (c *Client) List(ctx context.Context, path string) ([]Object, error) {
	var list []Object
	return list, c.send(ctx, http.MethodGet, path, nil, &list)
}

// Post creates an object, or changes one whose API has no PUT.
func (c *Client) Post(ctx context.Context, path string, body Object) (Object, error) {
	return c.object(ctx, http.MethodPost, path, body)
}

// Put changes the fields of an object that the body contains.
func (c *Client) Put(ctx context.Context, path string, body Object) (Object, error) {
	return c.object(ctx, http.MethodPut, path, body)
}

// Delete deletes an object.
func (c *Client) Delete(ctx context.Context, path string) error {
	_, err := c.object(ctx, http.MethodDelete, path, nil)
	return err
}

func (c *Client) object(ctx context.Context, method, path string, body Object) (Object, error) {
	var object Object
	return object, c.send(ctx, method, path, body, &object)
}

// send repeats a request that the console temporarily refused, or did not receive.
func (c *Client) send(ctx context.Context, method, path string, body Object, target any) error {
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
	}
	key, pause, busyUntil := rand.Text(), c.firstPause, time.Now().Add(busyPatience)
	for attempt := 1; ; attempt++ {
		retryAfter, err := c.attempt(ctx, method, path, key, encoded, target)
		isAwaited := isBusy(err) && time.Now().Before(busyUntil)
		if err == nil || !isAwaited && (attempt >= MaxAttempts || !isTransient(method, err)) {
			return err
		}
		if retryAfter == 0 {
			retryAfter, pause = pause, min(2*pause, maxPause)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(min(retryAfter, maxRetryAfter)):
		}
	}
}

// attempt sends a request once. It returns the pause that the reply asks for.
func (c *Client) attempt(
	ctx context.Context, method, path, key string, body []byte, target any,
) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	c.setHeaders(request, key, body != nil)
	reply, err := c.http.Do(request)
	if err != nil {
		return 0, c.explain(err)
	}
	defer func() { _ = reply.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	if err != nil {
		return 0, c.explain(err)
	}
	if reply.StatusCode < 200 || reply.StatusCode > 299 {
		return retryAfter(reply.Header), newError(method, path, reply, content)
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return 0, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err := decoder.Decode(target); err != nil {
		return 0, fmt.Errorf("the reply to %s %s is not the expected JSON: %w", method, path, err)
	}
	return 0, nil
}

func (c *Client) setHeaders(request *http.Request, key string, hasBody bool) {
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.options.UserAgent)
	if hasBody {
		request.Header.Set("Content-Type", "application/json")
	}
	if request.Method == http.MethodPost {
		// Shardboard executes a repeated request once.
		request.Header.Set("Idempotency-Key", key)
	}
	if c.options.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.options.Token)
	} else {
		request.SetBasicAuth(c.options.Username, c.options.Password)
	}
}

// explain says what to do about a failed connection.
func (c *Client) explain(err error) error {
	var unknown x509.UnknownAuthorityError
	var dial *net.OpError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("the certificate of %s is signed by an unknown CA: set ca_certificate: %w", c.base, err)
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("%s cannot be reached: check the URL and that the console is running: %w", c.base, err)
	}
	return fmt.Errorf("the request to %s failed: %w", c.base, err)
}
