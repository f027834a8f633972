#pragma once

// Measures the bytes per second of a plain read of device memory, the best of several. A negative
// result is a CUDA error.
double device_read_bandwidth();
