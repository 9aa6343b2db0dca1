// adc opt --passes=privatise-arrays
// Each iteration over p fills r before it reads it, and adds to a sum: it gets an r of its own.

func.func @f(%x: memref<?x?xf64> {adc.readonly = true}, %n: index, %d: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %r = memref.alloc(%d) : memref<?xf64>
  %total = scf.for %p = %c0 to %n step %c1 iter_args(%so_far = %zero) -> (f64) {
    scf.for %i = %c0 to %d step %c1 {
      %a = memref.load %x[%p, %i] : memref<?x?xf64>
      memref.store %a, %r[%i] : memref<?xf64>
      scf.yield
    }
    %more = scf.for %i = %c0 to %d step %c1 iter_args(%s = %so_far) -> (f64) {
      %b = memref.load %r[%i] : memref<?xf64>
      %t = arith.addf %s, %b : f64
      scf.yield %t : f64
    }
    scf.yield %more : f64
  }
  func.return %total : f64
}

// becomes
func.func @f(%x: memref<?x?xf64> {adc.readonly = true}, %n: index, %d: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %r = memref.alloc(%d) : memref<?xf64>
  %total = scf.for %p = %c0 to %n step %c1 iter_args(%so_far = %zero) -> (f64) {
    %r_0 = memref.alloc(%d) {adc.own = true} : memref<?xf64>
    scf.for %i = %c0 to %d step %c1 {
      %a = memref.load %x[%p, %i] : memref<?x?xf64>
      memref.store %a, %r_0[%i] : memref<?xf64>
      scf.yield
    }
    %more = scf.for %i_0 = %c0 to %d step %c1 iter_args(%s = %so_far) -> (f64) {
      %b = memref.load %r_0[%i_0] : memref<?xf64>
      %t = arith.addf %s, %b : f64
      scf.yield %t : f64
    }
    scf.yield %more : f64
  }
  func.return %total : f64
}
