// adc opt --passes=merge-branches,cse
// The store in between is to another array. What the first branch gives, the second one uses.

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %z: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    %p = arith.cmpf ogt, %a, %zero : f64
    %q = scf.if %p -> (f64) {
      %b = math.exp %a : f64
      memref.store %b, %y[%i] : memref<?xf64>
      scf.yield %b : f64
    } else {
      scf.yield %zero : f64
    }
    memref.store %zero, %z[%i] : memref<?xf64>
    %r = scf.if %p -> (f64) {
      %c = math.exp %a : f64
      %d = arith.addf %c, %q : f64
      scf.yield %d : f64
    } else {
      %e = arith.addf %q, %a : f64
      scf.yield %e : f64
    }
    memref.store %r, %x[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %z: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    %p = arith.cmpf ogt, %a, %zero : f64
    memref.store %zero, %z[%i] : memref<?xf64>
    %q, %r = scf.if %p -> (f64, f64) {
      %b = math.exp %a : f64
      memref.store %b, %y[%i] : memref<?xf64>
      %d = arith.addf %b, %b : f64
      scf.yield %b, %d : f64, f64
    } else {
      %e = arith.addf %zero, %a : f64
      scf.yield %zero, %e : f64, f64
    }
    memref.store %r, %x[%i] : memref<?xf64>
    scf.yield
  }
  func.return
}
